import Foundation
import GatehouseServiceContracts
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// What identity asks for on behalf of operators, through the routes.
extension PushApplicationTests {
    private static let identity = [HeaderName.credential: "dev-identity-devices"]

    private func sendTest(
        _ push: TestPushRequest = TestPushRequest(), to user: SignedIn, key: String? = UUID().uuidString,
        by headers: [String: String] = identity, of devices: TestDevices
    ) async throws -> TestHTTPClient.Response {
        try await devices.client.post(
            "/internal/users/\(user.id)/test-pushes" + (key.map { "?key=\($0)" } ?? ""), json: push, headers: headers)
    }

    private func testStatus(
        _ push: String?, of user: SignedIn, from devices: TestDevices
    ) async throws -> TestHTTPClient.Response {
        try await devices.client.get(
            "/internal/users/\(user.id)/test-pushes/\(push ?? "")", headers: Self.identity)
    }

    private func undelivered(_ user: SignedIn, from devices: TestDevices) async throws -> [UndeliveredPushList.Entry] {
        try await devices.client.get("/internal/users/\(user.id)/undelivered-pushes", headers: Self.identity)
            .decode(UndeliveredPushList.self).entries
    }

    /// Refuses the token `bb`.
    private static func pushService() -> FakePushService {
        FakePushService { push in
            let isGood = push.destination == .device(PushToken(bytes: [0xAA]))
            return .answered(
                APNsAnswer(
                    status: isGood ? 200 : 400, reason: isGood ? nil : "BadDeviceToken", invalidSince: nil,
                    retryAfter: nil))
        }
    }

    @Test func anOperatorSeesWhatBecomesOfATestPush() async throws {
        let pushService = Self.pushService()
        let bob = SignedIn()
        try await withDevices(pushService) { devices in
            _ = try await devices.register(token: "aa", as: ada)
            _ = try await devices.register(token: "bb", as: ada)
            _ = try await devices.register(token: "cc", as: bob)
            let response = try await sendTest(.init(body: "secret"), to: ada, of: devices)
            #expect(response.status == 202, "\(response.text)")
            let accepted = try response.decode(PushAccepted.self)
            #expect(accepted.devices == 2)
            try await eventually("it is done") {
                try await testStatus(accepted.id, of: ada, from: devices).decode(PushStatus.self).state == .done
            }
            let shown = try await testStatus(accepted.id, of: ada, from: devices)
            let status = try shown.decode(PushStatus.self)
            #expect(status.counts == ["accepted": 1, "rejected": 1])
            #expect(Set(status.devices.map(\.reason)) == [nil, "BadDeviceToken"])
            #expect(!shown.text.contains("secret") && shown.header("Cache-Control") == "no-store")
            // Bob's device received nothing, and Bob's operator does not see the push.
            #expect(
                pushService.sent.count == 2
                    && pushService.sent.allSatisfy { $0.isUrgent && $0.topic == "com.example.app" })
            #expect(try await testStatus(accepted.id, of: bob, from: devices).status == 404)
            let entries = try await undelivered(ada, from: devices)
            #expect(entries.map(\.push.uuidString.localizedLowercase) == [accepted.id])
            #expect(entries.map(\.reason) == ["BadDeviceToken"] && entries.map(\.state) == [.rejected])
            #expect(entries.map(\.caller) == ["operator"] && entries.map(\.attempts) == [1])
            #expect(entries.map(\.bundleId) == ["com.example.app"] && entries.map(\.pushType) == ["alert"])
            #expect(try await undelivered(bob, from: devices) == [])
        }
    }

    @Test func aTestPushIsSentOnceForAKey() async throws {
        let pushService = Self.pushService()
        let bob = SignedIn()
        try await withDevices(pushService) { devices in
            _ = try await devices.register(token: "aa", as: ada)
            let first = try await sendTest(to: ada, key: "k", of: devices)
            let again = try await sendTest(to: ada, key: "k", of: devices)
            #expect(first.status == 202 && again.status == 202 && first.body == again.body)
            let other = try await sendTest(.init(title: "x"), to: ada, key: "k", of: devices)
            #expect(try other.problem().code == "IDEMPOTENCY_KEY_REUSED")
            _ = try await devices.register(token: "bb", as: bob)
            let theirs = try await sendTest(to: bob, key: "k", of: devices)
            #expect(theirs.status == 202 && theirs.body != first.body, "another operator has the same key")
            for key in [nil, "", "a%20b"] {
                let refused = try await sendTest(to: ada, key: key, of: devices)
                #expect(try refused.problem().errors?.map(\.field) == ["Idempotency-Key"])
            }
        }
    }

    @Test func aTestPushIsRefusedWithAReason() async throws {
        try await withDevices(Self.pushService()) { devices in
            let nowhere = try await sendTest(to: ada, of: devices)
            let reason = try nowhere.problem().detail
            #expect(nowhere.status == 404 && reason.hasPrefix("None of your devices receives pushes."))
            _ = try await devices.register(token: "aa", as: ada)
            let wrong = try await sendTest(.init(title: "", bundleId: "com.example.other"), to: ada, of: devices)
            #expect(wrong.status == 400)
            #expect(try wrong.problem().errors?.map(\.field) == ["title", "bundleId"])
            for other in [headers(), ada.headers] {
                #expect(try await sendTest(to: ada, by: other, of: devices).status == 403)
                let path = "/internal/users/\(ada.id)"
                for path in [path + "/undelivered-pushes", path + "/test-pushes/\(UUID())"] {
                    #expect(try await devices.client.get(path, headers: other).status == 403)
                }
            }
            #expect(try await testStatus(UUID().uuidString, of: ada, from: devices).status == 404)
        }
    }

    /// A push of a service is not a test push, and is listed if it failed.
    @Test func pushesOfServicesAreListedWithTheirCaller() async throws {
        try await withDevices(Self.pushService()) { devices in
            _ = try await devices.register(token: "bb", as: ada)
            let response = try await devices.client.post("/internal/push", json: request(), headers: headers())
            let push = try response.decode(PushAccepted.self).id
            try await eventually("it is refused") { try await undelivered(ada, from: devices).count == 1 }
            #expect(try await undelivered(ada, from: devices).map(\.caller) == ["orders"])
            #expect(try await testStatus(push, of: ada, from: devices).status == 404)
        }
    }
}
