import Foundation
import GatehouseBytes
import Postgres
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// Names that Unicode calls equivalent, and Swift therefore equal, are different names.
@Suite struct AppleIdentityStoreTests {
    @Test func subjectsAreComparedByTheirBytes() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let stores = Stores(on: database.pool)
            let address = Identifier.email(try EmailAddress("ada@example.com"))
            let account = try #require(
                try await stores.passwords.register(NewAccount(identifier: address, passwordHash: "x")))
            func link(_ subject: String) async throws -> LinkOutcome {
                try await stores.appleIdentities.link(.sample(subject), to: account.id)
            }
            for (subject, isLinked) in [("caf\u{E9}", true), ("cafe\u{301}", false), ("caf\u{E9}", true)] {
                switch try await link(subject) {
                case .linked: #expect(isLinked)
                case .taken: #expect(!isLinked)
                case .nonceSpent, .noSuchUser: Issue.record("the user is there, and no nonce is used")
                }
            }
        }
    }

    /// As if the address had been kept before it was normalized, or by another version of Unicode.
    @Test func addressesAreComparedByTheirBytes() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let identities = Stores(on: pool).appleIdentities
            let (composed, decomposed) = ("andr\u{E9}@example.com", "andre\u{301}@example.com")
            let token = VerifiedAppleToken.sample(email: composed)
            let first = try await identities.findOrCreateAccount(for: token, name: nil)
            try await pool.query("UPDATE credentials SET email = \(decomposed)")
            try await pool.query("UPDATE identifiers SET value = \(decomposed)")
            let second = try await identities.findOrCreateAccount(for: token, name: nil)
            #expect(second.id == first.id && second.version > first.version)
            let kept = try await pool.query("SELECT a.email, i.value FROM credentials a CROSS JOIN identifiers i")
                .decode((String, String).self)
            #expect(kept.count == 1 && kept[0].0.isVerbatim(composed) && kept[0].1.isVerbatim(composed))
        }
    }

    @Test func anAddressOfAnotherUserLeavesTheFormerOneAsItWas() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let stores = Stores(on: pool)
            let ada = try await stores.appleIdentities.findOrCreateAccount(
                for: .sample(email: "ada@example.com"), name: nil)
            _ = try await stores.passwords.register(
                NewAccount(identifier: .email(EmailAddress("bob@example.com")), passwordHash: "x"))
            try await pool.query(
                "UPDATE identifiers SET verified = value = 'bob@example.com', changed_at = '2020-01-01Z'")
            _ = try await stores.appleIdentities.findOrCreateAccount(
                for: .sample(email: "bob@example.com"), name: nil)
            let kept = try await pool.query(
                "SELECT value, verified, changed_at < '2021-01-01' FROM identifiers WHERE user_id = \(ada.id)"
            ).decode((String, Bool, Bool).self)
            #expect(kept.count == 1 && kept[0] == ("ada@example.com", false, true))
            let changes = try await pool.query("SELECT count(*) FROM audit_entries WHERE event = 'identifier_changed'")
            #expect(try changes.decode(Int.self) == [0])
        }
    }
}
