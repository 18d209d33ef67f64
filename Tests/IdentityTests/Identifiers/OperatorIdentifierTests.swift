import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityService

extension AdministrationServiceTests {
    /// Operators add, move and remove identifiers.
    @Suite struct OperatorIdentifierTests {
        private func administer(
            _ identity: Harness, _ body: (UserAdministration) async throws -> UserAdministration.Entry
        ) async throws -> User {
            let configuration = try ServiceConfiguration<IdentityApplication>.load(environment: identity.settings)
            var entry: UserAdministration.Entry?
            try await UserAdministration.run(configuration.application) { entry = try await body($0) }
            return try #require(entry).user
        }

        private func expectRefused(
            _ identity: Harness, _ words: String, _ body: (UserAdministration) async throws -> UserAdministration.Entry
        ) async throws {
            let error = await #expect(throws: CommandFailure.self) {
                _ = try await administer(identity, body)
            }
            #expect(error?.description.contains(words) == true, "\(error as Any)")
        }

        private func events(_ identity: Harness, of user: UUID) async throws -> [String] {
            try await identity.database.query(
                "SELECT event FROM audit_entries WHERE user_id = \(user) AND actor = 'operator' ORDER BY id"
            ).decode(String.self)
        }

        private func lost(_ identity: Harness, by user: UUID) async throws -> [String] {
            try await identity.database.query("SELECT value FROM lost_identifiers WHERE user_id = \(user)")
                .decode(String.self)
        }

        @Test func anAddedOneIsVerifiedAndReplacesWhatWasThere() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                let moved = try await administer(identity) {
                    try await $0.addIdentifier(" ADA@example.org", user: "ada@example.com")
                }
                #expect(moved.email == "ada@example.org" && moved.emailVerified && moved.id == id)
                #expect(try await identity.login("ada@example.org").status == 200)
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                let both = try await administer(identity) {
                    try await $0.addIdentifier("+49 171 1234567", user: id.uuidString)
                }
                #expect(both.phone == "+491711234567" && both.phoneVerified == true && both.email == moved.email)
                #expect(try await events(identity, of: id) == ["identifier_changed", "identifier_changed"])
                try await eventually("tokens hears") {
                    identity.tokens.state.withLock { $0.snapshots[id] }?.user.phone == both.phone
                }
            }
        }

        @Test func anAddedOneIsTakenFromWhoHasNotVerifiedItAndFromNobodyElse() async throws {
            try await withIdentity { identity in
                let ada = try await identity.register("ada@example.com").user.id
                let bea = try await identity.register("bea@example.com").user.id
                let taken = try await administer(identity) {
                    try await $0.addIdentifier("ada@example.com", user: bea.uuidString)
                }
                #expect(taken.id == bea && taken.email == "ada@example.com" && taken.emailVerified)
                #expect(try await lost(identity, by: ada) == ["ada@example.com"])
                #expect(try await events(identity, of: ada) == ["identifier_lost"])
                try await expectRefused(identity, "has verified it") {
                    try await $0.addIdentifier("ada@example.com", user: ada.uuidString)
                }
                // Nothing of what was refused stays.
                let before = try await administer(identity) {
                    try await $0.addIdentifier("cea@example.com", user: ada.uuidString)
                }
                #expect(try await lost(identity, by: ada) == [], "it has an address again")
                try await expectRefused(identity, "has verified it") {
                    try await $0.addIdentifier("ada@example.com", user: ada.uuidString)
                }
                let me: User = try await identity.send(.GET, "/v1/auth/me", as: ada).decode()
                #expect(me.email == before.email && me.email == "cea@example.com")
            }
        }

        @Test func oneIsMovedToAnAccountOfTheSamePerson() async throws {
            try await withIdentity { identity in
                let former = try await identity.register("ada@example.com").user.id
                let user = try await identity.register("+491711234567", "kaffeekuchen").user.id
                let moved = try await administer(identity) {
                    try await $0.moveIdentifier("ada@example.com", to: "+491711234567")
                }
                #expect(moved.id == user && moved.email == "ada@example.com" && moved.emailVerified)
                #expect(try await identity.login("ada@example.com", "kaffeekuchen").status == 200)
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                let left: User = try await identity.send(.GET, "/v1/auth/me", as: former).decode()
                #expect(left.email == nil)
                #expect(try await lost(identity, by: former) == ["ada@example.com"])
                #expect(try await events(identity, of: former) == ["identifier_lost"])
                #expect(try await events(identity, of: user) == ["identifier_changed"])
                let other = try await identity.register("bea@example.com").user.id
                try await expectRefused(identity, "another one of this kind") {
                    try await $0.moveIdentifier("bea@example.com", to: user.uuidString)
                }
                try await expectRefused(identity, "no such user") {
                    try await $0.moveIdentifier("bea@example.com", to: UUID().uuidString)
                }
                try await expectRefused(identity, "no user with") {
                    try await $0.moveIdentifier("cea@example.com", to: user.uuidString)
                }
                let same = try await administer(identity) {
                    try await $0.moveIdentifier("bea@example.com", to: other.uuidString)
                }
                #expect(same.id == other && same.email == "bea@example.com")
            }
        }

        @Test func oneIsRemovedUnlessItIsTheLastWayIn() async throws {
            try await withIdentity { identity in
                let id = try await identity.register("ada@example.com").user.id
                try await expectRefused(identity, "only way to sign in") {
                    try await $0.removeIdentifier("ada@example.com")
                }
                #expect(try await identity.login("ada@example.com").status == 200)
                _ = try await administer(identity) { try await $0.addIdentifier("+491711234567", user: id.uuidString) }
                let left = try await administer(identity) { try await $0.removeIdentifier("ada@example.com") }
                #expect(left.email == nil && left.phone == "+491711234567")
                #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                #expect(try await identity.login("+491711234567").status == 200)
                #expect(try await events(identity, of: id) == ["identifier_changed", "identifier_removed"])
                #expect(try await identity.register("ada@example.com").user.id != id, "it is free")
            }
        }
    }
}
