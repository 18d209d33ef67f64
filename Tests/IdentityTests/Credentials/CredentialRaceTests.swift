import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// Fifty at once. The database's constraints decide, not the order of the requests.
@Suite("Credentials in races") struct CredentialRaceTests {
    private static let count = 50

    /// - Returns: the accounts, each with an address and a password.
    private func register(_ count: Int, on stores: Stores) async throws -> [Account] {
        var accounts: [Account] = []
        for number in 0..<count {
            let address = Identifier.email(try EmailAddress("user-\(number)@example.com"))
            let new = NewAccount(identifier: address, isVerified: true, passwordHash: "x")
            accounts.append(try #require(try await stores.passwords.register(new)))
        }
        return accounts
    }

    private func atOnce<Value: Sendable>(
        _ body: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: Value.self) { group in
            for number in 0..<Self.count { group.addTask { try await body(number) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Every credential has one owner, who exists, and no account has two of a single name.
    private func expectSound(_ pool: PostgresPool) async throws {
        let twice = try await pool.query(
            """
            SELECT user_id FROM credentials GROUP BY user_id, kind, provider HAVING count(*) > 1
            UNION ALL SELECT min(user_id::text)::uuid FROM credentials WHERE subject IS NOT NULL
            GROUP BY kind, provider, subject HAVING count(*) > 1
            """)
        #expect(twice.isEmpty)
        let stores = Stores(on: pool)
        for account in try await stores.accounts.list(after: nil, limit: 100) {
            #expect(stores.registry.reachability.opens(account), "no account has lost its last credential")
        }
        let bare = try await pool.query(
            """
            SELECT id FROM credentials WHERE id NOT IN (
                SELECT credential_id FROM passwords UNION ALL SELECT credential_id FROM apple_identities)
            """)
        #expect(bare.isEmpty, "each has its details")
    }

    @Test("One Apple account, linked to fifty users: one of them has it")
    func linkingOne() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let stores = Stores(on: database.pool)
            let accounts = try await register(Self.count, on: stores)
            let linked = try await atOnce { number in
                let outcome = try await stores.appleIdentities.link(.sample("one"), to: accounts[number].id)
                if case .linked = outcome { return true } else { return false }
            }
            #expect(linked.count(where: \.self) == 1)
            try await expectSound(database.pool)
        }
    }

    @Test("Fifty Apple accounts, linked to one user: the user has one of them")
    func linkingMany() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let stores = Stores(on: database.pool)
            let account = try await register(1, on: stores)[0]
            let linked = try await atOnce { number in
                let outcome = try await stores.appleIdentities.link(.sample("s\(number)"), to: account.id)
                if case .linked = outcome { return true } else { return false }
            }
            #expect(linked.count(where: \.self) == 1)
            try await expectSound(database.pool)
        }
    }

    @Test("Both of a user's credentials, unlinked by turns: one of them stays")
    func unlinking() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let stores = Stores(on: database.pool)
            let account = try await register(1, on: stores)[0]
            _ = try await stores.appleIdentities.link(.sample("one"), to: account.id)
            let unlinked = try await atOnce { number in
                let outcome = try await stores.unlinking(number % 2 == 0 ? .apple : .password, from: account.id)
                if case .unlinked = outcome { return true } else { return false }
            }
            #expect(unlinked.count(where: \.self) == 1)
            try await expectSound(database.pool)
        }
    }

    /// The merges conflict with each other, and with links and unlinks of the same credentials.
    @Test("Merges, links and unlinks of the same credentials")
    func merging() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let stores = Stores(on: database.pool)
            let accounts = try await register(4, on: stores)
            for (number, account) in accounts.enumerated() {
                _ = try await stores.appleIdentities.link(.sample("s\(number)"), to: account.id)
            }
            _ = try await atOnce { number in
                let (one, other) = (accounts[number % 4].id, accounts[(number / 4 + number + 1) % 4].id)
                switch number % 3 {
                case 0:
                    guard one != other, let first = try await stores.accounts.account(one),
                        let second = try await stores.accounts.account(other)
                    else { return }
                    _ = try await stores.merges.merge(first, second, sparing: UUID())
                case 1: _ = try await stores.unlinking(number % 2 == 0 ? .apple : .password, from: one)
                default: _ = try await stores.appleIdentities.link(.sample("s\(number % 4)"), to: other)
                }
            }
            try await expectSound(database.pool)
        }
    }
}
