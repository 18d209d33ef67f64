import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres
import TestKit
import Testing

@testable import TokensService

/// The plans of the service's statements on partitioned tables.
@Suite struct PartitionPruningTests {
    private static let tables = ["users", "sessions", "pending_revocations", "security_events"]

    private static let last = "SELECT FROM sessions WHERE bucket = 0"

    private func withPartitions(_ body: @Sendable (PostgresServer, SessionStore, TokensFixture) async throws -> Void)
        async throws
    {
        try await TokensFixture.with { tokens in
            try await withPostgresServer { server in
                let connection = try await PostgresConnection.patient(server.url())
                let migrator = PostgresMigrator(migrations: Migrations.all, logger: .quiet)
                try await migrator.up(on: connection)
                #expect(try await Set(migrator.partition(into: 8, on: connection)) == Set(Self.tables))
                await connection.close()
                try await server.recordPlans()
                let pool = PostgresPool(configuration: try .patient(server.url()), pool: .patient)
                defer { pool.close() }
                try await body(server, SessionStore(database: pool, lifetimes: .init()), tokens)
            }
        }
    }

    /// So a distributed database runs it on one server.
    @Test func anOperationReadsOnePartitionOfATable() async throws {
        try await withPartitions { server, store, tokens in
            for _ in 0..<8 { try await runEveryOperation(store, tokens) }
            try await store.database.query(PostgresQuery(unsafe: Self.last))
            try await eventually("the plans are in the log") {
                try server.statements(onPartitionsOf: Self.tables).contains { $0.text == Self.last }
            }
            let statements = try server.statements(onPartitionsOf: Self.tables)
            let scattered = Set(statements.filter(\.isScattered).map(\.text))
            #expect(scattered == [])
            let operations = [
                "create_session", "rotate_session", "read_session", "count_late_replay", "renew_authentication",
                "revoke_session(", "revoke_sessions(", "list_sessions", "live_sessions", "update_user",
            ]
            let missing = operations.filter { name in !statements.contains { $0.text.contains(name) } }
            #expect(missing == [])
            // So that a statement that reads several partitions would be seen.
            #expect(Set(statements.flatMap { $0.partitions["sessions"] ?? [] }).count > 1)
        }
    }

    private func runEveryOperation(_ store: SessionStore, _ tokens: TokensFixture) async throws {
        let user = User.sample()
        let replaced = try await tokens.signIn(user, in: store)
        let first = try await tokens.signIn(user, limit: 1, in: store)
        #expect(try await store.read(replaced.sessionID) == nil)
        let second = RefreshToken(sessionID: first.sessionID, generation: 1, keys: tokens.keys)
        let sealed = try tokens.keys.seal(second, under: first)
        #expect(try await store.rotate(first, to: second, sealed: sealed, ipAddress: nil) != nil)
        #expect(try await store.countLateReplay(of: first.sessionID, generation: 1))
        #expect(try await store.renewAuthentication(of: first.sessionID, userID: user.id, by: [.apple]))
        #expect(try await store.list(of: user.id, current: nil).count == 1)
        #expect(try await store.live([first.sessionID, replaced.sessionID]).map(\.id) == [first.sessionID])
        try await store.update(UserSnapshot(user: user, version: 9))
        #expect(try await store.revokeStolen(first.sessionID, generation: 1, theft: .olderToken))
        let third = try await tokens.signIn(user, in: store)
        #expect(try await store.revoke(third.sessionID, holding: third.hash, reason: .logout))
        let fourth = try await tokens.signIn(user, in: store)
        #expect(try await store.revoke(fourth.sessionID, of: user.id, reason: .administrator))
        _ = try await tokens.signIn(user, in: store)
        try await store.revokeAll(of: user.id, below: 1, reason: .passwordChanged)
        try await store.signOut(user.id, except: nil)
        try await store.revokeAll(of: user.id, reason: .accountDeleted)
    }

    /// Work that no request waits for may read every partition. Each server of a distributed database does its own
    /// part.
    @Test func onlyMaintenanceReadsSeveralPartitions() async throws {
        try await withPartitions { server, store, tokens in
            for _ in 0..<16 {
                let token = try await tokens.signIn(in: store)
                try await store.revoke(token.sessionID, reason: .logout)
                _ = try await tokens.signIn(in: store)
            }
            let feed = RevocationFeed(database: store.database, logger: .quiet)
            try await feed.sequencer.sequence()
            let sweeps = SweepStore(sessions: store, revocationRetention: 604_800)
            for table in SweepStore.Table.allCases { try await sweeps.step(table) }
            _ = try await store.database.query(PostgresQuery(unsafe: SweepStore.firstExpiry))
            let restoration = try Restoration(
                environment: ["TOKENS_DATABASE_URL": server.url(), "GATEHOUSE_ENVIRONMENT": "development"])
            #expect(try await restoration.run(keepingSessions: true) == .kept(sessions: 16))
            #expect(try await restoration.run(keepingSessions: false) == .ended(sessions: 16))
            let maintenance = [
                "FROM pending_revocations": "the sequencer collects the entries of all buckets",
                "expiry_day": "the sweep ends expired sessions, and a metric shows its backlog",
                "late_replayed OR": "after a restore all sessions end",
                "SELECT id FROM users": "the sweep looks for users without sessions",
                "DELETE FROM users": "the sweep removes them",
                "FROM security_events": "the sweep removes old events",
            ]
            try await store.database.query(PostgresQuery(unsafe: Self.last))
            var statements: [ExplainedStatement] = []
            try await eventually("the plans are in the log") {
                statements = try server.statements(onPartitionsOf: Self.tables)
                return statements.contains { $0.text == Self.last }
            }
            let scattered = Set(statements.filter(\.isScattered).map(\.text))
            #expect(scattered.contains { $0.contains("expiry_day") })
            // After a restore.
            let whole = ["SELECT count(*) FROM sessions", "DELETE FROM sessions"]
            let unknown = scattered.subtracting(whole).filter { text in
                !maintenance.keys.contains { text.contains($0) }
            }
            #expect(unknown == [])
        }
    }
}
