import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

/// The plans of the service's statements on partitioned tables.
@Suite struct PartitionPruningTests {
    private static let tables = [
        "devices", "erased_users", "pending_push_outcomes", "push_targets", "push_token_days", "push_user_days",
        "revoked_sessions",
        "security_events", "user_tags",
    ]

    private func withPartitions(_ body: (PostgresServer, TestRegistry) async throws -> Void) async throws {
        try await withPostgresServer { server in
            let connection = try await PostgresConnection.patient(server.url())
            let migrator = PostgresMigrator(migrations: Migrations.all, logger: .quiet)
            try await migrator.up(on: connection)
            #expect(try await migrator.partition(into: 8, on: connection) == Self.tables)
            await connection.close()
            try await server.recordPlans()
            let pool = PostgresPool(configuration: try .patient(server.url()), pool: .patient)
            defer { pool.close() }
            try await body(server, TestRegistry(pool))
        }
    }

    private func page(ending session: UUID) -> RevocationPage {
        RevocationPage(
            entries: [
                .init(
                    sessionID: session, userID: UUID(), revokedAt: .now, accessExpiresAt: .now + 3600, reason: .logout)
            ], cursor: session.uuidString, reset: false, more: false)
    }

    /// Pushes to users of several buckets in each way.
    private func push(_ pushes: TestPushes) async throws {
        let users = (0..<8).map { _ in SignedIn() }
        var devices: [PushRequest.DeviceTarget] = []
        for (number, user) in users.enumerated() {
            let device = try await pushes.register(user, token: "bb0\(number)")
            devices.append(.init(user: user.id, device: device.id))
        }
        for targets in [
            .init(users: users.map(\.id)), .init(sessions: users.map(\.session)), .init(devices: devices),
        ] as [PushRequest.Targets] {
            let push = try await pushes.accept(targets)
            try await giveBack(pushes, push)
            for reason in ["ServiceUnavailable", nil] {
                var due = try await pushes.queue.due(limit: 100)
                let claims = try await pushes.queue.checkingOwners(
                    of: pushes.queue.claim(due.take(100), lease: .seconds(30)))
                #expect(claims.count == 8)
                #expect(try await pushes.queue.capped(claims.map { ($0, 9) }).isEmpty)
                let decision =
                    reason.map { DeliveryDecision(state: .dead, reason: $0) }
                    ?? DeliveryDecision(state: .accepted, registration: .accepted)
                let outcomes = claims.map { ClaimOutcome(claim: $0, decision: decision) }
                #expect(try await pushes.queue.record(outcomes).allSatisfy { $0 })
                #expect(try await pushes.status(of: push).counts.values.reduce(0, +) == 8)
                _ = try await pushes.store.dead(of: TestPushes.caller, after: nil)
                #expect(
                    try await pushes.store.replay(push, of: TestPushes.caller, until: .now + 60)
                        == (reason == nil ? 0 : 8))
            }
            #expect(try await pushes.store.cancel(push, of: TestPushes.caller))
            for user in users { #expect(try await pushes.store.undelivered(to: user.id).entries == []) }
        }
        _ = try await pushes.queue.survey(limit: 10)
        _ = try await pushes.store.dryRun(TestPushes.valid(.init(users: users.map(\.id))))
        _ = try await pushes.accept(.init(users: users.map(\.id) + (0..<110).map { _ in UUID() }))
        #expect(try await pushes.startDue() == 3)
        try await pushToSegment(pushes)
    }

    /// As after a claim without an answer.
    private func giveBack(_ pushes: TestPushes, _ push: UUID) async throws {
        let id = UUID()
        var due = try await pushes.queue.due(limit: 100)
        let targets = due.take(100)
        #expect(try await pushes.queue.claim(targets, as: id, lease: .seconds(30)).count == 8)
        #expect(try await pushes.queue.release(.targets(targets, id: id)) == 8)
        let extent = LostClaim.Extent.accepted(push: push, buckets: Set(targets.map(\.bucket)))
        #expect(try await pushes.queue.release(extent) == 0)
    }

    /// The same devices as a segment with tags, of which a page is sent.
    private func pushToSegment(_ pushes: TestPushes) async throws {
        let user = SignedIn()
        let tags = UserTagStore(database: pushes.database)
        for names in [["gold"], ["gold", "new"]] as [Set<String>] {
            _ = try await tags.set(names, of: user.id, in: TestPushes.tagSpace)
        }
        #expect(try await tags.tags(of: user.id).count == 2)
        _ = try await pushes.register(user, token: "cc")
        let segment = PushSegment(tags: .init(all: ["gold"], any: ["new"]))
        let dryRun = try TestPushes.valid(.init(segment: segment)) { $0.dryRun = true }
        _ = try await pushes.store.dryRun(dryRun)
        let push = try await pushes.accept(.init(segment: segment))
        while let slice = try await pushes.slices.due().first {
            guard let page = try await pushes.slices.claim(slice, lease: .seconds(30), most: 9) else { continue }
            let decision = DeliveryDecision(
                state: .rejected, reason: "Unregistered", registration: .invalid(unlessSeenAfter: nil))
            _ = try await pushes.slices.advance(
                page, by: SliceProgress(page.claims.map { _ in .decided(decision) }), lease: .seconds(30), most: 9)
        }
        #expect(try await pushes.status(of: push).counts == ["rejected": 1])
        _ = try await pushes.accept(.init(users: [user.id])) { $0.ratePerMinute = 60 }
        try await pushes.registry.erase(user: user.id)
    }

    /// Also where a token passes from one user to another: each step reads the bucket of one of them.
    @Test func anOperationReadsOnePartitionOfATable() async throws {
        try await withPartitions { server, store in
            let revoked = RevokedSessionStore(database: store.database)
            var cursor: String?
            for number in 0..<8 {
                let (ada, bob) = (UUID(), UUID())
                let registration = try DeviceStoreTests.registration(token: "aa0\(number)")
                let session = UUID.session(of: ada)
                for _ in 0..<2 { #expect(try await store.register(registration, user: ada, session: session) != nil) }
                let device = try #require(
                    try await store.register(registration, user: bob, session: .session(of: bob)))
                #expect(try await store.devices(of: ada).isEmpty)
                #expect(try await store.ownerChanges(of: ada).count == 1)
                #expect(try await store.remove(device.id, of: bob))
                #expect(try await store.register(registration, user: ada, session: session) != nil)
                let page = page(ending: session)
                #expect(try await revoked.apply(page, after: cursor) == 1)
                cursor = page.cursor
                try await store.erase(user: bob)
                let expired = ExpiredRegistrationStore(
                    database: store.database, unseen: UnseenRules(pauseDays: 60, retentionDays: 270))
                for table in ExpiredRegistrationStore.Table.allCases {
                    _ = try await expired.purge(table, in: Bucket(user: ada))
                }
            }
            try await push(TestPushes(registry: store))
            #expect(try await revoked.registeredSessions(after: PushStore.zero, limit: 100) != [])
            _ = try await revoked.purge(batch: 10)
            let outcomes = PushOutcomeFeed(database: store.database, logger: .quiet)
            _ = try await outcomes.page(of: TestPushes.caller, after: nil, waitingUntil: .now)
            try await store.database.query("SELECT FROM devices WHERE bucket = 0")
            try await eventually("the plans are in the log") {
                try server.statements(onPartitionsOf: Self.tables).contains { $0.text.hasSuffix("WHERE bucket = 0") }
            }
            let statements = try server.statements(onPartitionsOf: Self.tables)
            let spread = [
                "DELETE FROM push_token_owners WHERE token_hash IN":
                    "the sweep looks for the registration of each owner",
                "WITH RECURSIVE callers": "targets are due in any bucket",
                "GROUP BY waiting.state": "and wait in any bucket",
                "WHERE state = 'dead'": "operators and callers list dead letters now and then",
                "SELECT DISTINCT bucket, session_id FROM devices": "after a reset of the feed every session is checked",
                "SELECT bucket, session_id FROM revoked_sessions": "a sweep",
                "FROM pending_push_outcomes": "the sequencer collects the entries of all buckets",
            ]
            let scattered = Set(statements.filter(\.isScattered).map(\.text)).filter { text in
                !spread.keys.contains { text.contains($0) }
            }
            #expect(scattered == [])
            for table in ["devices", "push_targets", "push_user_days"] {
                #expect(Set(statements.flatMap { $0.partitions[table] ?? [] }).count > 1)
            }
            let connection = try await PostgresConnection.patient(server.url())
            try await PostgresMigrator(migrations: Migrations.all, logger: .quiet).down(on: connection, to: 0)
            await connection.close()
        }
    }
}
