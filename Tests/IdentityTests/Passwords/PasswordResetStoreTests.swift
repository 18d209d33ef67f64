import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// Which accounts can be opened by a message to an identifier.
@Suite struct PasswordResetStoreTests {
    private let address: Identifier

    init() throws {
        address = .email(try EmailAddress("ada@example.com"))
    }

    /// A user with an unverified address.
    private func register(on stores: Stores) async throws -> Account {
        let new = NewAccount(identifier: address, passwordHash: "old")
        return try #require(try await stores.passwords.register(new))
    }

    private func password(of account: Account, on stores: Stores) async throws -> String? {
        try await stores.passwords.account(account.id)?.passwordHash
    }

    enum Change: CaseIterable {
        /// The owner signs in with Apple, too.
        case linking
        /// Another user verifies the address.
        case takingOver
        case disabling
        case settingAPassword

        func happen(to account: Account, on stores: Stores, apple: (String?) -> VerifiedAppleToken) async throws {
            switch self {
            case .linking:
                _ = try await stores.appleIdentities.link(apple(nil), to: account.id)
            case .takingOver:
                _ = try await stores.appleIdentities.findOrCreateAccount(for: apple("ada@example.com"), name: nil)
            case .disabling:
                _ = try await stores.accounts.setState(.disabled, of: account.id, actor: .operator)
            case .settingAPassword:
                _ = try await stores.passwords.setPassword(of: account, to: "old", sparing: nil)
            }
        }
    }

    @Test(arguments: Change.allCases)
    func whatMovesTheCredentialsEndsWhatWasSent(change: Change) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let stores = Stores(on: database.pool)
            let account = try await register(on: stores)
            let token = SingleUseToken(.passwordReset)
            #expect(try await stores.resets.start(of: address, token: token, expiresAt: .now + 600) != nil)
            #expect(try await stores.resets.knows(token.digest))
            try await change.happen(to: account, on: stores) { .sample(email: $0) }
            #expect(try await !stores.resets.knows(token.digest))
            #expect(try await stores.resets.use(token.digest, passwordHash: "new") == nil)
            #expect(try await password(of: account, on: stores) == "old")
        }
    }

    /// A token that was made at the same moment as the change, which did not remove it.
    @Test(arguments: [Change.linking, .takingOver, .disabling])
    func theConditionHoldsWhenTheTokenIsUsedToo(change: Change) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let stores = Stores(on: database.pool)
            let account = try await register(on: stores)
            try await change.happen(to: account, on: stores) { .sample(email: $0) }
            let token = SingleUseToken(.passwordReset)
            try await database.pool.query(
                """
                INSERT INTO password_resets (digest, user_id, credentials_version, kind, value, expires_at)
                SELECT \(token.digest), id, credentials_version, 'email', \(address.value),
                    now() + interval '10 minutes'
                FROM users WHERE id = \(account.id)
                """)
            #expect(try await stores.resets.use(token.digest, passwordHash: "new") == nil)
            #expect(try await password(of: account, on: stores) == "old")
            let after = try #require(try await stores.accounts.account(account.id))
            #expect(!after.emailVerified)
        }
    }

    /// After unlinking, the address that came from Apple still opens the account. An unverified phone number must not.
    @Test func nobodyLiesInWaitBehindAnotherIdentifier() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let stores = Stores(on: database.pool)
            let phone = Identifier.phone(try PhoneNumber("+491711234567"))
            let new = NewAccount(identifier: phone, passwordHash: "old")
            let eve = try #require(try await stores.passwords.register(new))
            _ = try await stores.appleIdentities.link(.sample("eve", email: "eve@example.com"), to: eve.id)
            _ = try await stores.unlinking(.apple, from: eve.id)
            let token = SingleUseToken(.passwordReset)
            #expect(try await stores.resets.start(of: phone, token: token, expiresAt: .now + 600) == nil)
            let own = Identifier.email(try EmailAddress("eve@example.com"))
            #expect(try await stores.resets.start(of: own, token: token, expiresAt: .now + 600)?.id == eve.id)
        }
    }
}
