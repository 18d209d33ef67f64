import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Synchronization
import TestKit
import Testing

@testable import IdentityCore

extension AdministrationServiceTests {
    /// Users' sessions and devices, as operators see and end them.
    @Suite struct AdminSessionTests {
        @Test func sessionsAreListedAndEnded() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                for _ in 0..<2 { #expect(try await admin.identity.login("ada@example.com").status == 200) }
                let path = "/users/\(id.path)/sessions"
                let sessions = try await admin.send(.GET, path).decode(SessionList.self).sessions
                #expect(sessions.count == 3 && sessions.allSatisfy { !$0.current })
                let one = sessions[0].id
                let foreign = "/users/\(admin.operatorID.path)/sessions/\(one.path)"
                #expect(try await admin.send(.DELETE, foreign).status == 404, "it is another user's")
                let ended = try await admin.send(.DELETE, "\(path)/\(one.path)")
                #expect(ended.status == 204 && ended.header("cache-control") == "no-store")
                #expect(try await admin.send(.DELETE, "\(path)/\(one.path)").status == 404)
                #expect(admin.identity.tokens.live(id) == 2)
                #expect(try await admin.send(.DELETE, path).status == 204)
                #expect(admin.identity.tokens.live(id) == 0)
                #expect(try await admin.identity.login("ada@example.com").status == 200, "the user may sign in again")
                let reasons = admin.identity.tokens.state.withLock { $0.revocations.map(\.request.reason) }
                #expect(reasons == [.administrator])
                let entries = try await admin.entries("user=\(id.path)").map { ($0.action, $0.session) }
                #expect(entries.filter { $0.0 == "session_ended" }.map(\.1) == [one.path])
                #expect(entries.count { $0.0 == "sessions_ended" } == 1)
                for (method, path) in [(HTTPMethod.GET, "sessions"), (.DELETE, "sessions"), (.GET, "devices")] {
                    #expect(try await admin.send(method, "/users/\(UUID())/\(path)").status == 404)
                }
            }
        }

        @Test func withoutTokensSessionsEndLater() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                let path = "/users/\(id.path)/sessions"
                admin.identity.tokens.state.withLock { $0.isDown = true }
                #expect(try await admin.send(.GET, path).code == "UNAVAILABLE")
                #expect(try await admin.send(.DELETE, path + "/\(UUID())").code == "UNAVAILABLE")
                #expect(try await admin.send(.DELETE, path).code == "UNAVAILABLE")
                #expect(admin.identity.tokens.live(id) == 1)
                admin.identity.tokens.state.withLock { $0.isDown = false }
                try await eventually("the sessions end") { admin.identity.tokens.live(id) == 0 }
            }
        }

        /// The entry and the task are kept before tokens is asked, so that no session ends without an entry.
        @Test func oneSessionEndsLaterWhereTokensFailsMeanwhile() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                let session = try #require(
                    admin.identity.tokens.state.withLock { state in
                        state.sessions.first { $0.value.snapshot.user.id == id }?.key
                    })
                admin.identity.tokens.state.withLock { $0.failsToChange = true }
                let answer = try await admin.send(.DELETE, "/users/\(id.path)/sessions/\(session.path)")
                #expect(answer.code == "UNAVAILABLE" && admin.identity.tokens.live(id) == 1)
                let ended = try await admin.entries("user=\(id.path)&action=session_ended")
                #expect(ended.map(\.session) == [session.path])
                admin.identity.tokens.state.withLock { $0.failsToChange = false }
                try await eventually("the session ends") { admin.identity.tokens.live(id) == 0 }
            }
        }

        @Test func devicesAreShownAsTheirUserSeesThem() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                let entry = DeviceExport.Entry(
                    id: UUID(), environment: .sandbox, bundleId: "com.example.app", kind: .alert, status: .active,
                    osVersion: "18.1", model: "iPhone17,1", alertsAllowed: true, sessionId: UUID(),
                    createdAt: Date(timeIntervalSince1970: 1_700_000_000),
                    updatedAt: Date(timeIntervalSince1970: 1_700_000_000))
                admin.identity.devices.state.withLock { $0.registered = [entry] }
                let answer = try await admin.send(.GET, "/users/\(id.path)/devices")
                let devices = try answer.decode(DeviceList.self).devices
                #expect(devices.map(\.id) == [entry.id] && devices.first?.bundleId == "com.example.app")
                #expect(devices.first?.alertsAllowed == true)
                #expect(!answer.text.contains("token") && !answer.text.contains("sessionId"))
            }
        }
    }
}
