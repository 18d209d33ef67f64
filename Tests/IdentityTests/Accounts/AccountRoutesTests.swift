import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore

extension AccountServiceTests {
    @Suite struct AccountRoutesTests {
        @Test func onlyTheGatewaySaysWhoSomebodyIs() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                for headers in [
                    [:], [HeaderName.userID: id.uuidString],
                    [HeaderName.credential: "dev-wrong", HeaderName.userID: id.uuidString],
                    ["Authorization": "Bearer x", HeaderName.userID: id.uuidString],
                ] {
                    let answer = try await identity.send(.GET, "/v1/auth/me", headers: headers)
                    #expect(answer.status == 401)
                    #expect(answer.code == "INVALID_TOKEN")
                    #expect(answer.header("WWW-Authenticate")?.hasPrefix("Bearer") == true)
                }
                #expect(try await identity.send(.GET, "/v1/auth/me", as: UUID()).code == "INVALID_TOKEN")
                for path in ["/v1/auth/me", "/api/v1/auth/me"] {
                    #expect(try await identity.send(.GET, path, as: id).decode(User.self).id == id)
                }
            }
        }

        @Test func theNameIsSetAndTakenAwayAndTokensHears() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let named: User = try await identity.send(
                    .PATCH, "/v1/auth/me", as: id, json: #"{"displayName":" Ada "}"#
                )
                .decode()
                #expect(named.displayName == "Ada" && named.updatedAt != nil)
                try await eventually("tokens hears") {
                    identity.tokens.state.withLock { $0.snapshots[id]?.user.displayName } == "Ada"
                }
                for same in ["{}", #"{"displayName":null}"#, #"{"displayName":"Ada","role":"admin"}"#] {
                    let user: User = try await identity.send(.PATCH, "/v1/auth/me", as: id, json: same).decode()
                    #expect(user == named)
                }
                let bad = try await identity.send(.PATCH, "/v1/auth/me", as: id, json: #"{"displayName":"a\u0007"}"#)
                #expect(bad.code == "INVALID_REQUEST")
                let blank: User = try await identity.send(.PATCH, "/v1/auth/me", as: id, json: #"{"displayName":""}"#)
                    .decode()
                #expect(blank.displayName == nil)
            }
        }

        @Test func tokensHearsOfChangesOnceItIsBack() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                identity.tokens.state.withLock { $0.isDown = true }
                for name in ["A", "B", "C"] {
                    let answer = try await identity.send(
                        .PATCH, "/v1/auth/me", as: id, json: #"{"displayName":"\#(name)"}"#)
                    #expect(answer.status == 200)
                }
                #expect(try await identity.outboxCount == 1)
                identity.tokens.state.withLock { $0.isDown = false }
                try await eventually("tokens hears") {
                    identity.tokens.state.withLock { $0.snapshots[id] }?.user.displayName == "C"
                }
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                #expect(identity.tokens.state.withLock { $0.snapshots[id]?.version } == 4)
            }
        }

        @Test func thePasswordIsChangedAndOtherSessionsEnd() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                _ = try await identity.login("ada@example.com")
                let session = try #require(identity.tokens.state.withLock { $0.sessions.keys.first })
                func change(_ json: String) async throws -> TestHTTPClient.Response {
                    try await identity.send(.POST, "/v1/auth/password", as: id, session: session, json: json)
                }
                #expect(try await change(#"{"newPassword":"kaffeekuchen"}"#).code == "INVALID_REQUEST")
                #expect(
                    try await change(#"{"currentPassword":"wrong","newPassword":"kaffeekuchen"}"#).code
                        == "INVALID_CREDENTIALS")
                #expect(
                    try await change(#"{"currentPassword":"tulpenzwiebel","newPassword":"short"}"#).code
                        == "WEAK_PASSWORD")
                #expect(identity.tokens.live(id) == 2)
                let done = try await change(#"{"currentPassword":"tulpenzwiebel","newPassword":"kaffeekuchen"}"#)
                #expect(done.status == 204)
                #expect(identity.tokens.state.withLock { Array($0.sessions.keys) } == [session])
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                #expect(try await identity.login("ada@example.com", "kaffeekuchen").status == 200)
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
            }
        }

        @Test func waysInAreAddedAndRemovedButNotTheLast() async throws {
            try await withIdentity { identity in
                let ada = try await identity.register("ada@example.com").user.id
                let token = try identity.apple.token(sub: "001", email: "ada@example.com")
                func link(_ user: UUID) async throws -> TestHTTPClient.Response {
                    try await identity.send(
                        .POST, "/v1/auth/identities/apple", as: user, json: #"{"identityToken":"\#(token)"}"#)
                }
                func unlink(_ provider: String) async throws -> TestHTTPClient.Response {
                    try await identity.send(.DELETE, "/v1/auth/identities/\(provider)", as: ada)
                }
                #expect(try await unlink("password").code == "FORBIDDEN")
                #expect(try await unlink("apple").code == "NOT_FOUND")
                #expect(try await unlink("google").code == "NOT_FOUND")
                let linked: User = try await link(ada).decode()
                #expect(linked.authProviders == [.apple, .password] && linked.emailVerified)
                #expect(try await link(ada).status == 200)
                let eve = try await identity.register("eve@example.com").user.id
                #expect(try await link(eve).code == "IDENTIFIER_TAKEN")
                #expect(try await identity.apple(token).decode(AuthResponse.self).user.id == ada)

                let without: User = try await unlink("password").decode()
                #expect(without.authProviders == [.apple])
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                #expect(try await unlink("apple").code == "FORBIDDEN")
                let set = try await identity.send(
                    .POST, "/v1/auth/password", as: ada, json: #"{"newPassword":"kaffeekuchen"}"#)
                #expect(set.status == 204)
                #expect(try await unlink("apple").decode(User.self).authProviders == [.password])
                #expect(try await identity.login("ada@example.com", "kaffeekuchen").status == 200)
            }
        }

        @Test func theExportHoldsWhatIsKept() async throws {
            try await withIdentity { identity in
                let ada: AuthResponse = try await identity.apple(
                    identity.apple.token(sub: "001", email: "ada@example.com"), name: .init(givenName: "Ada")
                ).decode()
                let session = try #require(identity.tokens.state.withLock { $0.sessions.keys.first })
                let day = Date(timeIntervalSince1970: 1_790_000_000)
                let phone = DeviceExport.Entry(
                    id: UUID(), environment: .production, bundleId: "com.example.app", kind: .alert, status: .active,
                    timeZone: "Europe/Berlin", osVersion: "26.1", model: "iPhone17,1", alertsAllowed: true,
                    sessionId: session, createdAt: day, updatedAt: day)
                identity.devices.state.withLock { $0.registered = [phone] }
                let export: AccountExport = try await identity.send(
                    .GET, "/v1/auth/export", as: ada.user.id, session: session
                ).decode()
                #expect(export.user == ada.user)
                #expect(export.apple?.subject == "001" && export.apple?.email == "ada@example.com")
                #expect(export.apple?.clientId == "com.example.app")
                #expect(export.state == "active" && export.phoneVerified == nil)
                #expect(export.devices == [phone])
                #expect(export.sessions.map(\.id) == [session] && export.sessions[0].current)
                #expect(export.events.map(\.event) == ["signed_in", "registered"])
                #expect(export.passwordChangedAt == nil)
            }
        }

        @Test func theExportTellsWhetherAPhoneIsVerified() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("+491711234567").user.id
                let export: AccountExport = try await identity.send(.GET, "/v1/auth/export", as: id).decode()
                #expect(export.user.phone == "+491711234567" && export.phoneVerified == false)
            }
        }

        @Test func aDisabledAccountIsToldToItsOwnerAlone() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                _ = try await AccountStore(database: identity.database).setState(.disabled, of: id, actor: .operator)
                #expect(try await identity.login("ada@example.com").code == "ACCOUNT_DISABLED")
                #expect(try await identity.login("ada@example.com", "tulpenzwiebe1").code == "INVALID_CREDENTIALS")
                try await eventually("its sessions end") { identity.tokens.live(id) == 0 }
                _ = try await AccountStore(database: identity.database).setState(.active, of: id, actor: .operator)
                #expect(try await identity.login("ada@example.com").status == 200)
            }
        }
    }
}
