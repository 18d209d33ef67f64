import Foundation
import GatehouseServiceContracts
import Postgres
import Sealing
import ServiceKitPostgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// Transactions that change the same user do not deadlock, and miss nothing that the other does.
@Suite struct LockOrderTests {
    enum Change: CaseIterable {
        case taking, following, consentEnding, resetting, linking, unlinking, deleting, setting, moving, removing
        case renaming, disabling, endingSessions, endingSession, settingPassword, verifying, takingByCode, merging
        case absorbing, undoing, transferring
    }

    /// Each change waits for the user's row, which another transaction has locked, as a deletion does. Meanwhile it
    /// must hold no lock that the deletion needs next.
    @Test(arguments: Change.allCases)
    func usersAreLockedBeforeWhatBelongsToThem(change: Change) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let stores = Stores(on: pool)
            let address = Identifier.email(try EmailAddress("ada@example.com"))
            let holder = try #require(
                try await stores.passwords.register(NewAccount(identifier: address, passwordHash: "x")))
            _ = try await stores.appleIdentities.link(.sample(), to: holder.id)
            let reset = SingleUseToken(.passwordReset)
            try await pool.query(
                """
                INSERT INTO password_resets (digest, user_id, credentials_version, kind, value, expires_at)
                SELECT \(reset.digest), id, credentials_version, 'email', \(address.value),
                    now() + interval '10 minutes'
                FROM users WHERE id = \(holder.id)
                """)
            try await pool.query(
                """
                INSERT INTO identifier_changes (digest, user_id, kind, value, expires_at)
                VALUES (\(reset.digest), \(holder.id), 'email', 'ada@example.net', now() + interval '10 minutes')
                """)
            try await pool.query(
                """
                INSERT INTO apple_transfers (credential_id, team, transfer_subject)
                SELECT id, 'NEWTEAM000', 'on the way' FROM credentials WHERE user_id = \(holder.id) AND kind = 'apple'
                """)
            let other = try #require(
                try await stores.passwords.register(
                    NewAccount(identifier: .email(EmailAddress("grace@example.com")), passwordHash: "x")))
            let codes = CodeAccountStore(database: pool)

            let waiting = try await pool.withTransaction { transaction in
                #expect(try await AccountStore.lock(holder.id, on: transaction) != nil)
                let waiting = Task {
                    switch change {
                    case .taking:
                        let new = NewAccount(identifier: address, isVerified: true, passwordHash: "y")
                        _ = try await stores.passwords.register(new)
                    case .following:
                        _ = try await stores.appleIdentities.findOrCreateAccount(
                            for: .sample(email: "ada@example.org"), name: nil)
                    case .consentEnding:
                        _ = try await stores.appleGrants.endConsent(of: holder.id, at: .now)
                    case .resetting:
                        _ = try await stores.resets.use(reset.digest, passwordHash: "z")
                    case .linking:
                        _ = try await stores.appleIdentities.link(.sample(), to: holder.id)
                    case .unlinking:
                        _ = try await stores.unlinking(.apple, from: holder.id)
                    case .deleting:
                        _ = try await stores.deletions.delete(holder.id, actor: .user)
                    case .setting:
                        _ = try await stores.identifierChanges.set(
                            .email(EmailAddress("ada@example.org")), of: holder.id, actor: .user)
                    case .moving:
                        _ = try await stores.identifierChanges.move(
                            .email, from: holder.id, to: holder.id, actor: .operator)
                    case .removing:
                        _ = try await stores.identifierChanges.remove(.email, of: holder.id, actor: .user)
                    case .renaming:
                        _ = try await stores.accounts.rename(holder.id, to: DisplayName(value: "Ada"))
                    case .disabling:
                        _ = try await stores.accounts.setState(.disabled, of: holder.id, actor: .operator)
                    case .endingSessions:
                        _ = try await stores.accounts.endSessions(of: holder.id, actor: .operator)
                    case .endingSession:
                        _ = try await stores.accounts.endSession(UUID(), of: holder.id)
                    case .settingPassword:
                        _ = try await stores.passwords.setPassword(of: holder, to: "z", sparing: nil)
                    case .verifying:
                        _ = try await codes.verify(address, of: holder.id)
                    case .takingByCode:
                        _ = try await codes.account(verifiedBy: address)
                    case .merging:
                        _ = try await stores.merges.merge(holder, other, sparing: UUID())
                    case .absorbing:
                        _ = try await stores.merges.merge(other, holder, sparing: UUID())
                    case .undoing:
                        let changes = stores.identifierChanges
                        _ = try await changes.undo(reset.digest)
                    case .transferring:
                        _ = try await AppleTransferStore(database: pool).arrive(
                            holder.id, transferSubject: "on the way", as: "002")
                    }
                }
                try await eventually("the change waits", within: .seconds(50)) {
                    try await !Self.locksOfWaiters(on: pool).isEmpty
                }
                let locks = try await Self.locksOfWaiters(on: pool)
                let written = locks.filter { !$0.hasSuffix(" AccessShareLock") }
                #expect(Set(written).isSubset(of: ["users RowShareLock"]))
                return waiting
            }
            try await waiting.value
        }
    }

    @Test(
        "A code arrives while its Apple account is removed or merged: it is revoked, or exchanged for the next user",
        arguments: [false, true])
    func codeBesideAChange(isMerge: Bool) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let stores = Stores(on: pool)
            let ada = try await stores.appleIdentities.findOrCreateAccount(for: .sample(), name: nil).id
            let grace = try await stores.appleIdentities.findOrCreateAccount(for: .sample("002"), name: nil).id
            try await pool.query("DELETE FROM credentials WHERE user_id = \(grace)")
            let code = AppleGrant(clientID: "com.example.app", kind: .authorizationCode, secret: "c0de")

            let arriving = try await pool.withTransaction { transaction in
                let user = try #require(try await AccountStore.lock(ada, on: transaction))
                let arriving = Task { try await stores.appleGrants.enqueueExchange(of: code, subject: "001") }
                try await eventually("the code waits for the user", within: .seconds(50)) {
                    try await !Self.locksOfWaiters(on: pool).isEmpty
                }
                if isMerge {
                    try await stores.registry.merge(from: ada, into: grace, on: transaction)
                    try await transaction.query("DELETE FROM users WHERE id = \(ada)")
                } else {
                    try await stores.registry.removeAll(of: ada, on: transaction)
                    try await AccountStore.touch(user, credentials: true, on: transaction)
                }
                return arriving
            }
            try await arriving.value
            let tasks = try await pool.query("SELECT kind, user_id FROM outbox WHERE destination = 'apple'")
                .decode((String, UUID?).self)
            #expect(tasks.count == 1)
            let expected: (String, UUID?) = isMerge ? (AppleCodeTask.kind, grace) : (AppleRevocationTask.kind, nil)
            #expect(tasks.first.map { $0 == expected } == true, "\(tasks)")
        }
    }

    /// The code becomes a token while the account is being deleted: the deletion sees the one or the other.
    @Test func aDeletionMissesNoTokenThatArrivesMeanwhile() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let stores = Stores(on: pool)
            let sealer = Sealer(keys: .sample, purpose: AppleGrant.sealingPurpose)
            let account = try await stores.appleIdentities.findOrCreateAccount(for: .sample(), name: nil)
            let code = AppleGrant(clientID: "com.example.app", kind: .authorizationCode, secret: "c0de")
            try await OutboxStore.enqueue(
                .exchangeCode(subject: "001"), user: account.id, on: pool,
                sealing: { try code.sealed(by: sealer, for: $0) })
            let credential = try await CredentialStore.all(of: account.id, on: pool)[0]
            let token = try sealer.seal(Data("r-c0de".utf8), context: AppleGrant.context(ofCredential: credential.id))

            let deleting = try await pool.withTransaction { transaction in
                try await transaction.query("LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE")
                let deleting = Task {
                    try await stores.deletions.delete(account.id, actor: .user)
                }
                try await eventually("the deletion waits for the outbox", within: .seconds(50)) {
                    try await !Self.locksOfWaiters(on: pool).isEmpty
                }
                try await transaction.query(
                    "UPDATE apple_identities SET refresh_token = \(token) WHERE credential_id = \(credential.id)")
                try await transaction.query("DELETE FROM outbox WHERE user_id = \(account.id)")
                return deleting
            }
            _ = try #require(try await deleting.value)
            let claim = try await OutboxStore(database: pool).claim(
                for: .apple, kinds: [AppleRevocationTask.kind], limit: 2)
            let job = try #require(claim.first)
            let grant = AppleGrant.open(job.sealed, for: job.id, by: sealer)
            #expect(grant?.kind == .refreshToken && grant?.secret == "r-c0de")
        }
    }

    /// The token arrives after the deletion has looked for one: it finds no account any more, so that it is revoked.
    @Test func aTokenThatArrivesAfterTheDeletionLookedIsNotKept() async throws {
        try await withTokenThatArrives { account, _, transaction in
            try await transaction.query("DELETE FROM users WHERE id = \(account.id)")
        } then: { isKept, _ in
            #expect(!isKept)
        }
    }

    /// The token arrives while the account is merged into another: it is kept for the user who then owns
    /// the Apple account.
    @Test func aTokenThatArrivesDuringAMergerIsKeptForTheNextUser() async throws {
        try await withTokenThatArrives { account, next, transaction in
            try await transaction.query("UPDATE credentials SET user_id = \(next) WHERE user_id = \(account.id)")
        } then: { isKept, grant in
            #expect(isKept)
            #expect(grant?.secret == "r")
        }
    }

    /// Changes an Apple account in a transaction that has found no token of it, while one waits to be kept.
    /// - Parameter check: told whether it was kept, and what the next user has then.
    private func withTokenThatArrives(
        _ change: (_ account: Account, _ next: UUID, PostgresTransaction) async throws -> Void,
        then check: (_ isKept: Bool, AppleGrant?) throws -> Void
    ) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let stores = Stores(on: pool)
            let account = try await stores.appleIdentities.findOrCreateAccount(for: .sample(), name: nil)
            let next = UUID()
            try await pool.query("INSERT INTO users (id) VALUES (\(next))")
            let keeping = try await pool.withTransaction { transaction in
                #expect(try await stores.appleGrants.grant(of: account.id, on: transaction) == nil)
                let keeping = Task {
                    try await stores.appleGrants.keepRefreshToken("r", clientID: "com.example.app", of: "001")
                }
                try await eventually("the token waits", within: .seconds(50)) {
                    try await !Self.locksOfWaiters(on: pool).isEmpty
                }
                try await change(account, next, transaction)
                return keeping
            }
            let isKept = try await keeping.value
            let grant = try await pool.withTransaction { transaction in
                try await stores.appleGrants.grant(of: next, on: transaction)
            }
            try check(isKept, grant)
        }
    }

    /// The tables that transactions waiting for a lock have locked themselves, and how.
    private static func locksOfWaiters(on pool: PostgresPool) async throws -> [String] {
        try await pool.query(
            """
            SELECT l.relation::regclass::text || ' ' || l.mode
            FROM pg_locks l JOIN pg_stat_activity a USING (pid) JOIN pg_class c ON c.oid = l.relation
            WHERE a.datname = current_database() AND a.wait_event_type = 'Lock' AND l.granted
                AND l.locktype = 'relation' AND c.relkind = 'r'
            """
        ).decode(String.self)
    }

    /// Two transactions deadlock. PostgreSQL ends one of them, which is run again.
    @Test func aDeadlockEndsNobody() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let users = [UUID(), UUID()]
            for user in users { try await pool.query("INSERT INTO users (id) VALUES (\(user))") }
            let meeting = Meeting()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for order in [users, [users[1], users[0]]] {
                    group.addTask { try await meeting.cross(order, on: pool) }
                }
                try await group.waitForAll()
            }
            // One of them began again.
            #expect(meeting.arrivals.withLock { $0 } >= 3)
            let versions = try await pool.query("SELECT version FROM users").decode(Int64.self)
            #expect(versions == [2, 2])
        }
    }

    /// Another transaction changes the further user after this one has begun. Its event comes first.
    @Test func eventsOfAUserAreInTheOrderOfTheChanges() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let accounts = AccountStore(database: pool)
            let users = [UUID(), UUID()]
            for user in users { try await pool.query("INSERT INTO users (id) VALUES (\(user))") }
            try await pool.withRetriedTransaction { transaction in
                #expect(try await AccountStore.lock(users[0], on: transaction) != nil)
                try await AuditStore.record(.enabled, users[0], by: .operator, on: transaction)
                _ = try await accounts.setState(.disabled, of: users[1], actor: .operator)
                #expect(try await AccountStore.lockAnother(users[1], on: transaction) != nil)
                try await AuditStore.record(.identifierLost, users[1], by: .user, on: transaction)
            }
            // All are there when the feed is read, an entry a page.
            let feed = EventFeedStore(database: pool, pageSize: 1, logger: .quiet)
            try await feed.sequencer.sequence()
            var (types, cursor, more): ([AccountEventType], String?, Bool) = ([], nil, true)
            while more {
                let page = try await feed.page(after: cursor, waitingUntil: .now)
                types += page.events.filter { $0.userID == users[1] }.map(\.type)
                (cursor, more) = (page.cursor, page.more)
            }
            #expect(types == [.userDisabled, .identifierChanged])
        }
    }

    /// Two transactions, each with a row that the other one needs next.
    private final class Meeting: Sendable {
        let arrivals = Mutex(0)

        func cross(_ users: [UUID], on pool: PostgresPool) async throws {
            try await pool.withRetriedTransaction { transaction in
                _ = try await AccountStore.lock(users[0], on: transaction)
                arrivals.withLock { $0 += 1 }
                try await eventually("both hold one") { arrivals.withLock { $0 } >= 2 }
                // In breach of the lock order, so that the two transactions deadlock. A LockedUser would prevent it.
                try await transaction.query("UPDATE users SET version = version + 1 WHERE id = \(users[1])")
            }
        }
    }
}
