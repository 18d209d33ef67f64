import Foundation
import Postgres
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityService

@Suite struct UnverifiedAccountRemovalTests {
    /// - Parameter state: of the account, as columns of `users`.
    private func make(
        _ email: String?, verified: Bool = false, days: Int = 40, _ state: String = "'active', 'user', '{}'",
        on database: PostgresPool
    ) async throws -> UUID {
        let id = UUID()
        try await database.query(
            """
            INSERT INTO users (id, created_at, state, role, store_ids)
            VALUES (\(id), now() - make_interval(days => \(days)::integer), \(unescaped: state))
            """)
        if let email {
            try await database.query(
                """
                INSERT INTO identifiers (kind, value, user_id, verified)
                VALUES ('email', \(email), \(id), \(verified))
                """)
        }
        return id
    }

    private func remaining(on database: PostgresPool) async throws -> Set<UUID> {
        Set(try await database.query("SELECT id FROM users").decode(UUID.self))
    }

    @Test func onlyWhatWasNeverVerifiedAndIsNotUsedGoes() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let abandoned = try await [make("a@example.com", on: pool), make(nil, on: pool)]
            let signedIn = try await make("b@example.com", on: pool)
            let used = try await make("c@example.com", on: pool)
            try await AuditStore.record(.signedIn, used, by: .user, on: pool)
            let linked = try await make(nil, on: pool)
            try await pool.query(
                """
                INSERT INTO credentials (id, user_id, kind, subject, is_single, verified_at)
                VALUES (\(UUID()), \(linked), 'any', 's', true, now())
                """)
            let kept = try await [
                signedIn, used, linked, make("d@example.com", verified: true, on: pool),
                make("e@example.com", days: 20, on: pool),
                make("f@example.com", "'disabled', 'user', '{}'", on: pool),
                make("g@example.com", "'active', 'courier', '{}'", on: pool),
                make("h@example.com", "'active', 'user', '{berlin}'", on: pool),
            ]
            let removal = UnverifiedAccountRemoval(
                deletions: Stores(on: pool).deletions, days: 30, isSignedIn: { $0 == signedIn })
            try await removal.run()
            #expect(try await remaining(on: pool) == Set(kept))
            // Others are told, as of every deletion.
            let told = try await pool.query("SELECT user_id FROM outbox WHERE kind = 'deletion'").decode(UUID.self)
            #expect(Set(told) == Set(abandoned))
            let actors = try await pool.query("SELECT actor FROM audit_entries WHERE event = 'deleted'")
            #expect(try actors.decode(String.self) == ["system", "system"])
        }
    }

    /// A run reads a bounded number of users, and the next goes on where it ended.
    @Test func aRunIsBoundedAndTheNextGoesOn() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let most = UnverifiedAccountRemoval.page * UnverifiedAccountRemoval.pagesPerRun
            try await pool.query(
                """
                INSERT INTO users (id, created_at, role)
                SELECT gen_random_uuid(), now() - interval '50 days', 'courier' FROM generate_series(1, \(most))
                """)
            let last = try await make(nil, on: pool)
            let removal = UnverifiedAccountRemoval(
                deletions: Stores(on: pool).deletions, days: 30, isSignedIn: { _ in false })
            try await removal.run()
            #expect(try await remaining(on: pool).contains(last))
            try await removal.run()
            #expect(try await !remaining(on: pool).contains(last))
        }
    }

    /// Without the setting nothing of the kind happens.
    @Test func itIsOffByDefault() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let user = try await make("a@example.com", days: 4000, on: database.pool)
            let log = CapturedLog()
            await ExpiredRowStore(database: database.pool, auditRetention: nil).removeExpired(log: log)
            #expect(try await remaining(on: database.pool) == [user])
        }
    }
}
