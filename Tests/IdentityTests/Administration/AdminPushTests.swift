import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Synchronization
import TestKit
import Testing

@testable import IdentityCore

extension AdministrationServiceTests {
    /// Test pushes of operators, and pushes that a user did not receive.
    @Suite struct AdminPushTests {
        private static let device = DeviceExport.Entry(
            id: UUID(), environment: .sandbox, bundleId: "com.example.app", kind: .alert, status: .active,
            sessionId: UUID(), createdAt: .now, updatedAt: .now)

        /// Whatever a request names, the caller's own devices are the recipients.
        @Test func anOperatorPushesToTheirOwnDevices() async throws {
            try await withOperator { admin in
                let ada = try await admin.identity.register("ada@example.com").user.id
                admin.identity.devices.state.withLock { $0.registered = [Self.device] }
                let sent = try await admin.identity.send(
                    .POST, "/v1/admin/test-pushes", as: admin.operatorID, role: "operator",
                    json: #"{"title":"Hello","user":"\#(ada.path)","targets":{"users":["\#(ada.path)"]}}"#,
                    headers: ["Idempotency-Key": "k+1"])
                #expect(sent.status == 202 && sent.header("cache-control") == "no-store", "\(sent.text)")
                let pushes = admin.identity.devices.state.withLock { $0.testPushes }
                #expect(pushes.map(\.user) == [admin.operatorID] && pushes.map(\.key) == ["k+1"])
                #expect(pushes.map(\.request) == [TestPushRequest(title: "Hello")])
                let push = try #require(pushes.first)
                #expect(try sent.decode(PushAccepted.self) == PushAccepted(id: push.id.path, devices: 1))
                let status = try await admin.send(.GET, "/test-pushes/\(push.id.path)").decode(PushStatus.self)
                #expect(status.state == .done && status.counts == ["accepted": 1])
                #expect(try await admin.send(.GET, "/test-pushes/\(UUID())").code == "NOT_FOUND")
                let entry = try #require(try await admin.entries("action=test_push_sent").first)
                #expect(entry.user == admin.operatorID.path && entry.by.id == admin.operatorID.path)
                // Without a key of the caller's each request is a push.
                for _ in 0..<2 { #expect(try await admin.send(.POST, "/test-pushes").status == 202) }
                #expect(Set(admin.identity.devices.state.withLock { $0.testPushes.map(\.key) }).count == 3)
            }
        }

        /// A system is no user with devices.
        @Test func systemsSendNoTestPushes() async throws {
            try await withOperator { admin in
                let sent = try await admin.ask(.POST, "/test-pushes")
                let read = try await admin.ask(.GET, "/test-pushes/\(UUID())")
                let pushes = admin.identity.devices.state.withLock { $0.testPushes }
                #expect(sent.status == 404 && read.status == 404 && pushes == [])
            }
        }

        @Test func theOperatorSeesWhyNothingIsSent() async throws {
            try await withOperator { admin in
                let refused = try await admin.send(.POST, "/test-pushes", json: #"{"title":"Hello"}"#)
                #expect(refused.status == 404)
                #expect(try refused.problem().detail == "None of your devices receives pushes.")
                #expect(try await admin.entries("action=test_push_sent").isEmpty)
            }
        }

        @Test func testPushesAreLimited() async throws {
            let settings = [
                "GATEHOUSE_RATE_LIMITS": "on", "IDENTITY_REDIS_URL": "redis://127.0.0.1:1",
                "IDENTITY_ALLOWANCES": "testPush:user=2/3600",
            ]
            try await withOperator(settings) { admin in
                admin.identity.devices.state.withLock { $0.registered = [Self.device] }
                for _ in 0..<2 { #expect(try await admin.send(.POST, "/test-pushes").status == 202) }
                let refused = try await admin.send(.POST, "/test-pushes")
                #expect(refused.code == "RATE_LIMITED" && refused.header("Retry-After") != nil)
                #expect(admin.identity.devices.state.withLock { $0.testPushes.count } == 2)
            }
        }

        @Test func pushesThatAUserDidNotReceiveAreShownAndAudited() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                let entry = UndeliveredPushList.Entry(
                    push: UUID(), device: UUID(), caller: "orders", bundleId: "com.example.app", pushType: "alert",
                    state: .rejected, reason: "Unregistered", at: Date(timeIntervalSince1970: 1_700_000_000),
                    attempts: 1)
                admin.identity.devices.state.withLock { $0.undelivered = [entry] }
                let path = "/users/\(id.path)/undelivered-pushes"
                let answer = try await admin.send(.GET, path)
                #expect(try answer.decode(UndeliveredPushList.self).entries == [entry])
                #expect(try await admin.ask(.GET, path).decode(UndeliveredPushList.self).entries == [entry])
                #expect(try await admin.entries("user=\(id.path)&action=viewed").map(\.detail) == ["pushes", "pushes"])
                #expect(try await admin.send(.GET, "/users/\(UUID())/undelivered-pushes").status == 404)
            }
        }
    }
}
