import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

extension AccountServiceTests {
    /// What the `users` commands do, beside a service that runs.
    @Suite struct UserAdministrationTests {
        private func administer<Value: Sendable>(
            _ identity: Harness, _ body: (UserAdministration) async throws -> Value
        ) async throws -> Value {
            let configuration = try ServiceConfiguration<IdentityApplication>.load(environment: identity.settings)
            var value: Value?
            try await UserAdministration.run(configuration.application) { value = try await body($0) }
            return try #require(value)
        }

        private func create(
            _ identity: Harness, _ identifier: String = "ada@example.com", password: String = "tulpenzwiebel",
            role: String = "user", stores: [String] = []
        ) async throws -> UserAdministration.Entry {
            try await administer(identity) {
                try await $0.create(
                    identifier: identifier, password: password, displayName: "Ada", role: role, storeIDs: stores)
            }
        }

        @Test func whoIsCreatedSignsIn() async throws {
            try await withIdentity { identity in
                let entry = try await create(identity, " Ada@Example.com", role: "courier", stores: ["Köln"])
                #expect(entry.state == "active")
                let auth: AuthResponse = try await identity.login("ada@example.com").decode()
                #expect(auth.user.id == entry.user.id)
                #expect(auth.user.emailVerified && auth.user.displayName == "Ada")
                #expect(auth.user.role == "courier" && auth.user.storeIds == ["Köln"])
                let byPhone = try await create(identity, "+49 171 1234567")
                #expect(byPhone.user.phone == "+491711234567")
                #expect(try await identity.login("+491711234567").status == 200)
            }
        }

        @Test func whatIsWrongIsSaidAndMakesNobody() async throws {
            try await withIdentity { identity in
                _ = try await create(identity)
                let tooLong = Array(repeating: String(repeating: "ä", count: 64), count: 20)
                for (identifier, password, role, stores, words) in [
                    ("ada@example.com", "tulpenzwiebel", "user", [], "belongs to another user"),
                    ("nobody", "tulpenzwiebel", "user", [], ""),
                    ("eve@example.com", "short", "user", [], "at least 8 characters"),
                    ("eve@example.com", "tulpenzwiebel", "Courier", [], "lower-case letter"),
                    ("eve@example.com", "tulpenzwiebel", "user", ["a b"], "without spaces"),
                    ("eve@example.com", "tulpenzwiebel", "user", tooLong, "too long together"),
                ] {
                    let error = await #expect(throws: CommandFailure.self) {
                        try await create(identity, identifier, password: password, role: role, stores: stores)
                    }
                    #expect(error?.description.contains(words) == true || words.isEmpty)
                }
                #expect(try await identity.database.query("SELECT id FROM users").count == 1)
            }
        }

        /// An operator vouches for the address: the account that has not verified it loses it.
        @Test func anOperatorTakesAnAddressFromWhoHasNotVerifiedIt() async throws {
            try await withIdentity { identity in
                let squatter = try await identity.register("ada@example.com", "kaffeekuchen")
                let entry = try await create(identity)
                #expect(entry.user.id != squatter.user.id)
                #expect(try await identity.login("ada@example.com").decode(AuthResponse.self).user.id == entry.user.id)
            }
        }

        @Test func rolesAndStoresReachTokens() async throws {
            try await withIdentity { identity in
                let id = try await create(identity, stores: ["a", "b"]).user.id
                // tokens keeps nothing about users without a session.
                #expect(try await identity.login("ada@example.com").status == 200)
                func set(_ role: String, _ stores: [String]?) async throws -> User {
                    let entry = try await administer(identity) {
                        try await $0.setRole(role, storeIDs: stores, user: "ada@example.com")
                    }
                    try await eventually("tokens hears") {
                        let heard = identity.tokens.state.withLock { $0.snapshots[id] }?.user
                        return heard?.role == entry.user.role && heard?.storeIds == entry.user.storeIds
                    }
                    return entry.user
                }
                let manager = try await set("manager", nil)
                #expect(manager.role == "manager" && manager.storeIds == ["a", "b"])
                #expect(try await set("manager", ["c"]).storeIds == ["c"])
                #expect(try await set("courier", []).storeIds == [])
                await #expect(throws: CommandFailure.self) { _ = try await set("manager", ["a b"]) }
                for nobody in [UUID().uuidString, "eve@example.com"] {
                    await #expect(throws: CommandFailure.self) {
                        _ = try await administer(identity) {
                            try await $0.setRole("user", storeIDs: nil, user: nobody)
                        }
                    }
                }
                let me: User = try await identity.send(.GET, "/v1/auth/me", as: id).decode()
                #expect(me.role == "courier" && me.storeIds == [])
            }
        }

        /// Page by page, also where many were made at the same moment.
        @Test func everyUserIsListedOnceOldestFirst() async throws {
            try await withIdentity { identity in
                try await identity.database.query(
                    """
                    INSERT INTO users (id, created_at)
                    SELECT gen_random_uuid(), '2026-01-01 12:00:00.123457Z' FROM generate_series(1, 1001)
                    """)
                let last = try await create(identity).user.id
                let entries = try await administer(identity) { administration in
                    var entries: [UserAdministration.Entry] = []
                    try await administration.list { entries.append($0) }
                    return entries
                }
                #expect(entries.count == 1002)
                #expect(Set(entries.map(\.user.id)).count == 1002)
                #expect(entries.last?.user.id == last)
            }
        }

        @Test func nothingIsLeftRunning() async throws {
            try await withIdentity { identity in
                let hasher = try await administer(identity) { $0.hasher }
                let password = try Password("tulpenzwiebel")
                await #expect(throws: (any Error).self) {
                    try await hasher.hash(password)
                }
            }
        }
    }
}
