import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore

extension AdministrationServiceTests {
    /// Users, as operators find and change them.
    @Suite struct AdminUserTests {
        @Test func usersAreFoundByWhatTheirIdentifierOrIdBeginsWith() async throws {
            try await withOperator(["IDENTITY_PHONE_CALLING_CODE": "49"]) { admin in
                var ids: [String: UUID] = [:]
                for identifier in [
                    "ada@example.com", "adam@example.com", "a_a@example.com", "+491711234567", "+491719999999",
                ] {
                    ids[identifier] = try await admin.identity.register(identifier).user.id
                }
                func found(_ query: String) async throws -> Set<String> {
                    let users = try await admin.users(query).users
                    return Set(users.compactMap { user in ids.first { $0.value == user.id }?.key })
                }
                #expect(try await found("identifier=ADA") == ["ada@example.com", "adam@example.com"])
                #expect(try await found("identifier=ada@") == ["ada@example.com"])
                #expect(try await found("identifier=a_") == ["a_a@example.com"], "no pattern")
                #expect(try await found("identifier=%25") == [])
                #expect(try await found("identifier=%2B49171") == ["+491711234567", "+491719999999"])
                #expect(try await found("identifier=0171%2012") == ["+491711234567"])
                let ada = try #require(ids["ada@example.com"])
                #expect(try await found("id=\(ada.uuidString.prefix(12))") == ["ada@example.com"])
                #expect(try await found("id=\(ada.path)&identifier=adam") == [])
                #expect(try await admin.users("role=operator").users.map(\.id) == [admin.operatorID])
                #expect(try await admin.users("role=user").users.count == 5)
                #expect(try await admin.send(.POST, "/users/\(ada.path)/disable").status == 200)
                #expect(try await found("state=disabled") == ["ada@example.com"])
                #expect(try await found("state=active&identifier=ad") == ["adam@example.com"])
                for query in [
                    "state=gone", "role=No", "id=xyz", "identifier=%00", "limit=0", "limit=201", "limit=a", "role=",
                    "state=", "limit=", "after=%C3",
                    "identifier=a&after=.", "id=a&after=1",
                ] {
                    let refused = try await admin.send(.GET, "/users?" + query)
                    #expect(refused.code == "INVALID_REQUEST", "\(query): \(refused.text)")
                }
            }
        }

        @Test func aDomainIsShownInBothForms() async throws {
            struct Shown: Decodable {
                struct Identifier: Decodable {
                    var value: String
                    var unicode: String?
                }

                var email: String
                var identifiers: [Identifier]
            }
            try await withOperator { admin in
                for (address, unicode) in [
                    ("ada@xn--mnchen-3ya.example", "ada@münchen.example"), ("ada@example.com", nil),
                ] {
                    let id = try await admin.identity.register(address).user.id
                    let shown: Shown = try await admin.send(.GET, "/users/\(id.path)").decode()
                    #expect(shown.email == unicode ?? address && shown.identifiers.map(\.value) == [address])
                    #expect(shown.identifiers.map(\.unicode) == [unicode])
                }
            }
        }

        /// Page by page, in each order, also where many were made at the same moment.
        @Test func everyUserIsOnOnePage() async throws {
            try await withOperator { admin in
                try await admin.identity.database.query(
                    """
                    WITH made AS (
                        INSERT INTO users (id, created_at)
                        SELECT gen_random_uuid(), '2026-01-01 12:00:00.123457Z' FROM generate_series(1, 450)
                        RETURNING id)
                    INSERT INTO identifiers (kind, value, user_id, verified)
                    SELECT 'email', 'many-' || id || '@example.com', id, true FROM made
                    """)
                for (query, total) in [("", 451), ("identifier=many-", 450), ("id=", 451), ("state=active", 451)] {
                    let query = query == "id=" ? "limit=200" : query + "&limit=200"
                    var (seen, after): ([UUID], String?) = ([], nil)
                    repeat {
                        let page = try await admin.users(query + (after.map { "&after=\($0)" } ?? ""))
                        seen += page.users.map(\.id)
                        after = page.next
                        #expect(page.users.count == 200 || after == nil)
                    } while after != nil && seen.count < 1000
                    #expect(seen.count == total && Set(seen).count == total, "\(query)")
                }
                let ids = try await (0...15).asyncFlatMap { digit in
                    try await admin.users("id=\(String(digit, radix: 16))&limit=200").users.map(\.id)
                }
                #expect(ids.count == 451 && ids.map(\.path) == ids.map(\.path).sorted())
                #expect(try await admin.users("limit=1").users.first?.id == admin.operatorID, "the newest first")
            }
        }

        @Test func whoIsMadeSignsInOrGetsAPasswordLater() async throws {
            try await withOperator { admin in
                let json = """
                    {"identifier":" Ada@Example.com","password":"tulpenzwiebel","displayName":"Ada","role":"courier",\
                    "storeIds":["Köln"]}
                    """
                let made = try await admin.send(.POST, "/users", json: json)
                #expect(made.status == 201 && made.header("cache-control") == "no-store")
                let ada: AdminUser = try made.decode()
                #expect(ada.identifiers == [.init(kind: "email", value: "ada@example.com", verified: true)])
                #expect(ada.role == "courier" && ada.storeIds == ["Köln"] && ada.state == "active")
                #expect(ada.displayName == "Ada" && ada.lastSignInAt == nil && ada.pending == nil)
                #expect(try await admin.identity.login("ada@example.com").status == 200)
                let read: AdminUser = try await admin.send(.GET, "/users/\(ada.id.path)").decode()
                #expect(read.lastSignInAt != nil && read.authProviders == [.password])

                let eve: AdminUser = try await admin.send(
                    .POST, "/users", json: #"{"identifier":"eve@example.com"}"#
                ).decode()
                #expect(eve.authProviders == [] && eve.role == "user")
                #expect(try await admin.identity.login("eve@example.com").code == "INVALID_CREDENTIALS")

                for (json, code, field) in [
                    (#"{"identifier":"ada@example.com"}"#, "IDENTIFIER_TAKEN", ""),
                    (#"{"identifier":"nobody"}"#, "INVALID_REQUEST", "identifier"),
                    (#"{"identifier":"b@example.com","password":"short"}"#, "WEAK_PASSWORD", "password"),
                    (#"{"identifier":"b@example.com","role":"No"}"#, "INVALID_REQUEST", "role"),
                    (#"{"identifier":"b@example.com","storeIds":["a b"]}"#, "INVALID_REQUEST", "storeIds"),
                    (#"{"identifier":"b@example.com","displayName":"\#u{202E}"}"#, "INVALID_REQUEST", "displayName"),
                    ("{}", "INVALID_REQUEST", "identifier"),
                ] {
                    let refused = try await admin.send(.POST, "/users", json: json)
                    #expect(refused.code == code && refused.text.contains(#""field":"\#(field)""#) == (field != ""))
                }
            }
        }

        @Test func whatIsChangedReachesTokens() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                let path = "/users/\(id.path)"
                let changed: AdminUser = try await admin.send(
                    .PATCH, path, json: #"{"role":"courier","storeIds":["a"],"displayName":"Ada"}"#
                ).decode()
                #expect(changed.role == "courier" && changed.storeIds == ["a"] && changed.displayName == "Ada")
                let told = admin.identity.tokens.state.withLock { $0.snapshots[id] }?.user
                #expect(told?.role == "courier" && told?.storeIds == ["a"] && told?.displayName == "Ada")
                let cleared: AdminUser = try await admin.send(
                    .PATCH, path, json: #"{"role":null,"storeIds":[],"displayName":""}"#
                ).decode()
                #expect(cleared.role == "courier" && cleared.storeIds == [] && cleared.displayName == nil)
                let same = try await admin.send(.PATCH, path, json: "{}")
                #expect(same.status == 200)
                let log = AuditStore(database: admin.identity.database)
                let events = try await log.page(of: id, before: nil, limit: 10)
                #expect(
                    events.map(\.event) == [
                        "role_changed", "profile_changed", "role_changed", "profile_changed", "signed_in", "registered",
                    ])
                #expect(events[0].actorID == admin.operatorID.path && events[0].detail == "courier")
                #expect(try await admin.send(.PATCH, "/users/\(UUID())", json: "{}").status == 404)
                #expect(try await admin.send(.PATCH, path, json: #"{"role":"No"}"#).code == "INVALID_REQUEST")
            }
        }

        @Test func whoIsDisabledIsSignedOutAndKeptOut() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                let path = "/users/\(id.path)"
                let disabled: AdminUser = try await admin.send(.POST, path + "/disable").decode()
                #expect(disabled.state == "disabled" && disabled.pending == nil)
                #expect(admin.identity.tokens.live(id) == 0)
                #expect(try await admin.identity.login("ada@example.com").code == "ACCOUNT_DISABLED")
                #expect(try await admin.send(.POST, path + "/disable").status == 200, "it may be repeated")
                let enabled: AdminUser = try await admin.send(.POST, path + "/enable").decode()
                #expect(enabled.state == "active")
                #expect(try await admin.identity.login("ada@example.com").status == 200)
                for act in ["disable", "enable"] {
                    #expect(try await admin.send(.POST, "/users/\(UUID())/\(act)").status == 404)
                }
            }
        }

        @Test func whatTokensWasNotToldIsSaid() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                admin.identity.tokens.state.withLock { $0.isDown = true }
                let disabled: AdminUser = try await admin.send(.POST, "/users/\(id.path)/disable").decode()
                #expect(disabled.state == "disabled" && disabled.pending == ["revoke_sessions", "snapshot"])
                #expect(try await admin.users("identifier=ada").users.first?.pending?.contains("snapshot") == true)
                admin.identity.tokens.state.withLock { $0.isDown = false }
                try await eventually("the sessions end") { admin.identity.tokens.live(id) == 0 }
            }
        }

        @Test func whoIsDeletedIsGone() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                let path = "/users/\(id.path)"
                #expect(try await admin.send(.DELETE, path).status == 202)
                try await eventually("the deletion is done") { try await admin.identity.tables(of: id).isEmpty }
                #expect(admin.identity.tokens.live(id) == 0)
                try await eventually("devices knows") {
                    admin.identity.devices.state.withLock { $0.erased } == [id]
                }
                #expect(try await admin.send(.GET, path).status == 404)
                let entries = try await admin.entries("user=\(id.path)&action=deleted")
                #expect(entries.count == 1 && entries.first?.by.id == admin.operatorID.path)
                #expect(entries.first?.address != nil, "that of the operator")
                #expect(try await admin.send(.DELETE, "/users/\(UUID())").status == 404)
                #expect(try await admin.send(.DELETE, "/users/nobody").status == 404)
            }
        }
    }
}

extension Sequence {
    fileprivate func asyncFlatMap<Value>(_ transform: (Element) async throws -> [Value]) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values += try await transform(element) }
        return values
    }
}
