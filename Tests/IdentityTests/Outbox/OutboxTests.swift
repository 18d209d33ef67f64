import Foundation
import GatehouseServiceKit
import ServiceLifecycle
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService
@testable import Postgres

@Suite struct OutboxTests {
    /// All destinations of tasks.
    private static let destinations: [OutboxDestination] = [.tokens, .devices, .apple, .mail, .phone]

    /// Carries out the tasks of each destination with the same function.
    private static func delivery(
        on database: PostgresPool, _ body: @escaping @Sendable (OutboxEntry) async throws -> Void = { _ in }
    ) -> OutboxDelivery {
        func handler<Payload: OutboxPayload>(_: Payload.Type, _ destination: OutboxDestination) -> OutboxHandler {
            OutboxHandler(Payload.self, for: destination) { _, entry in
                try await body(entry)
                return .done
            }
        }
        return OutboxDelivery(
            outbox: OutboxStore(database: database),
            handlers: [
                handler(UnusedSessionTask.self, .tokens), handler(DeletionTask.self, .tokens),
                handler(DeletionTask.self, .devices), handler(AppleCodeTask.self, .apple),
                handler(PasswordResetTask.self, .mail), handler(MessageTask.self, .mail),
                handler(MessageTask.self, .phone),
            ])
    }

    private func worker(
        on database: PostgresPool, log: CapturedLog, delivered: @escaping @Sendable (OutboxEntry) -> Void = { _ in }
    ) -> OutboxWorker {
        OutboxWorker(Self.delivery(on: database) { delivered($0) }, logger: log.logger)
    }

    /// A step that only a newer version knows.
    @Test(arguments: [("deletion", #"{"deletion":{"_0":"tidyUp"}}"#), ("take_back", "null")])
    func aTaskThatCannotBeReadSpoilsNoOther(kind: String, task: String) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let strange = UUID()
            try await pool.query(
                """
                INSERT INTO outbox (id, kind, destination, task, next_attempt_at)
                VALUES (\(strange), \(kind), 'tokens', '\(unescaped: task)'::jsonb, '-infinity')
                """)
            let known = try await OutboxStore.enqueue(
                .revokeUnused(session: UUID()), user: nil, dueAtOnce: true, on: pool)
            let log = CapturedLog()
            let delivered = Mutex<[UUID]>([])
            let worker = worker(on: pool, log: log) { entry in delivered.withLock { $0.append(entry.id) } }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await worker.run() }
                try await eventually("both were tried") {
                    let left = try await pool.query("SELECT isfinite(next_attempt_at) FROM outbox")
                    return try left.decode(Bool.self) == [true]
                }
                group.cancelAll()
            }
            #expect(delivered.withLock { $0 } == [known.id])
            // It stays, is due again before its claim would have run out, and the log reports it.
            let rows = try await pool.query(
                """
                SELECT id, attempts > 0, next_attempt_at < now() + interval '10 seconds' FROM outbox
                """
            ).decode((UUID, Bool, Bool).self)
            #expect(rows.count == 1 && rows[0] == (strange, true, true))
            #expect(log.lines.first?.contains("cannot be read") == true && log.lines[0].contains(kind))
        }
    }

    @Test("Task without a handler for its kind or destination: it waits for a replica that has one, delays none")
    func unknownKind() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let delivery = Self.delivery(on: pool)
            try await pool.query(
                """
                INSERT INTO outbox (id, kind, destination, task, next_attempt_at)
                SELECT gen_random_uuid(), kind, 'tokens', '{}', '-infinity'
                FROM unnest(ARRAY['brew_coffee', \(AppleCodeTask.kind)]) AS kind, generate_series(1, 50)
                """)
            #expect(try await delivery.waits().isEmpty)
            let known = try await OutboxStore.enqueue(
                .revokeUnused(session: UUID()), user: nil, dueAtOnce: true, on: pool)
            #expect(try await delivery.waits() == [.tokens: .zero])
            let claimed = try await delivery.claim(for: .tokens, limit: 16)
            #expect(claimed.map(\.id) == [known.id])
            try await delivery.deliver(claimed[0])
            let rest = try await pool.query("SELECT attempts = 0, isfinite(next_attempt_at) FROM outbox")
                .decode((Bool, Bool).self)
            #expect(rest.count == 100 && rest.allSatisfy { $0 == (true, false) })
            #expect(try await delivery.backlog()[.tokens]?.count == 100)
        }
    }

    @Test("Claim among many tasks: an index finds the due ones")
    func planOfClaim() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            try await pool.query(
                """
                INSERT INTO outbox (id, kind, destination, task, next_attempt_at)
                SELECT gen_random_uuid(), (ARRAY['take_back', 'revoke_sessions', 'brew_coffee'])[1 + i % 3],
                    (ARRAY['tokens', 'mail'])[1 + i % 2], '{}', now() + make_interval(secs => i - 50)
                FROM generate_series(1, 20000) i
                """)
            try await pool.query("ANALYZE outbox")
            let kinds = ["take_back", "revoke_sessions", "snapshot"]
            var query = OutboxStore.claim(for: .tokens, kinds: kinds, limit: 16, about: nil)
            query.sql = "EXPLAIN " + query.sql
            let plan = try await pool.query(query).decode(String.self).joined(separator: "\n")
            #expect(plan.contains("outbox_due") && !plan.contains("Seq Scan on outbox"), "\(plan)")
        }
    }

    @Test("Task that continues: the entry becomes the next task, which is due at once")
    func continuation() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let user = UUID()
            let delivery = OutboxDelivery(
                outbox: OutboxStore(database: pool),
                handlers: [
                    OutboxHandler(DeletionTask.self, for: .tokens) { task, entry in
                        task.step == .revokeSessions
                            ? .next(.deletion(.eraseDevices), about: entry.userID)
                            : .next(.revokeAppleGrant, about: nil)
                    }
                ])
            let first = try await OutboxStore.enqueue(
                .deletion(.revokeSessions), user: user, on: pool, sealing: { _ in Data([7]) })
            try await delivery.deliver(first)
            func row() async throws -> (UUID, UUID?, String, String, Bool, Int64, Data?) {
                try await pool.query(
                    """
                    SELECT id, user_id, destination, coalesce(task #>> '{deletion,_0}', kind), next_attempt_at <= now(), revision, sealed
                    FROM outbox
                    """
                )[0].decode((UUID, UUID?, String, String, Bool, Int64, Data?).self)
            }
            let second = try await row()
            #expect(second.0 == first.id && second.1 == user && second.2 == "devices" && second.3 == "eraseDevices")
            #expect(second.4 && second.6 == Data([7]))
            #expect(delivery.retimed.count == 1)
            // A repetition by another process changes nothing.
            try await delivery.deliver(first)
            #expect(try await row().5 == second.5)
            // No handler: the task is not lost.
            var entry = try #require(try await OutboxStore.deletion(of: user, on: pool))
            await #expect(throws: UnreadableOutboxTask.self) { try await delivery.deliver(entry) }
            entry.destination = .tokens
            try await delivery.deliver(entry)
            let last = try await row()
            #expect(last.1 == nil && last.2 == "apple" && last.3 == "apple_revocation" && last.6 == Data([7]))
        }
    }

    @Test func tellsWhatWaitsAndSinceWhen() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let store = OutboxStore(database: pool)
            let none = OutboxBacklog(count: 0, age: 0)
            #expect(
                try await store.backlog(of: Self.destinations) == [
                    .tokens: none, .devices: none, .apple: none, .mail: none, .phone: none,
                ])
            let first = try await OutboxStore.enqueue(.revokeUnused(session: UUID()), user: nil, on: pool)
            try await OutboxStore.enqueue(.revokeUnused(session: UUID()), user: nil, on: pool)
            try await OutboxStore.enqueue(.passwordReset(channel: .email, language: nil), user: nil, on: pool)
            try await pool.query("UPDATE outbox SET created_at = now() - interval '2 hours' WHERE id = \(first.id)")
            let backlog = try await store.backlog(of: Self.destinations)
            #expect(backlog[.tokens]?.count == 2 && backlog[.mail]?.count == 1 && backlog[.devices] == none)
            #expect((7200..<7260).contains(backlog[.tokens]?.age ?? 0))
            #expect((0..<60).contains(backlog[.mail]?.age ?? -1))
            try await store.complete(first)
            #expect(try await store.backlog(of: Self.destinations)[.tokens]?.count == 1)
        }
    }

    @Test func tellsWhenTheNextTaskIsDue() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let delivery = Self.delivery(on: pool)
            #expect(try await delivery.waits().isEmpty)
            try await OutboxStore.enqueue(.revokeUnused(session: UUID()), user: nil, dueAtOnce: true, on: pool)
            try await OutboxStore.enqueue(.revokeUnused(session: UUID()), user: nil, on: pool)
            try await OutboxStore.enqueue(.message(channel: .phone), user: nil, on: pool)
            let waits = try await delivery.waits()
            #expect(waits.count == 2 && waits[.tokens] == .zero)
            let wait = try #require(waits[.phone])
            #expect(wait > .zero && wait <= .seconds(OutboxStore.claimLifetime))
        }
    }

    @Test func theOutboxIsReadWhenATaskIsDueAndNowAndThen() {
        #expect(OutboxSchedule.pause(before: nil) == OutboxSchedule.rest)
        #expect(OutboxSchedule.pause(before: .zero) == OutboxSchedule.retry)
        for milliseconds in stride(from: 1, through: 20_000, by: 7) {
            let wait = Duration.milliseconds(milliseconds)
            #expect(OutboxSchedule.pause(before: wait) == min(wait, .seconds(3)))
        }
    }

    /// One for each destination.
    private static let tasks: [OutboxTask] = [
        .revokeUnused(session: UUID()), .deletion(.eraseDevices), .exchangeCode(subject: "001"),
        .passwordReset(channel: .email, language: nil), .message(channel: .phone),
    ]

    /// One destination never answers, and has more tasks than are carried out at once.
    @Test(arguments: tasks)
    func whoIsSlowHoldsUpNobodyElse(slow: OutboxTask) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let log = CapturedLog()
            let told = Mutex<[OutboxDestination]>([])
            let delivery = Self.delivery(on: pool) { entry in
                told.withLock { $0.append(entry.destination) }
                if entry.destination == slow.destination { try await Task.sleep(for: .seconds(3600)) }
            }
            let worker = OutboxWorker(delivery, logger: log.logger)
            for _ in 0..<20 { try await OutboxStore.enqueue(slow, user: nil, dueAtOnce: true, on: pool) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await worker.run() }
                try await eventually("the slow destination has a task") {
                    told.withLock { $0.contains(slow.destination) }
                }
                let others = Self.tasks.filter { $0.destination != slow.destination }
                for task in others { try await OutboxStore.enqueue(task, user: nil, dueAtOnce: true, on: pool) }
                worker.wake()
                try await eventually("the others are told") {
                    told.withLock { told in others.map(\.destination).allSatisfy(told.contains) }
                }
                group.cancelAll()
            }
        }
    }

    /// An exchange with a server that hangs holds one permit, and no task of the same destination behind it.
    @Test func aSlowTaskHoldsUpNoOtherOfItsDestination() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let isSlowUnderWay = Mutex(false)
            let delivered = Mutex(0)
            let slow = try await OutboxStore.enqueue(.message(channel: .email), user: nil, dueAtOnce: true, on: pool)
            let delivery = Self.delivery(on: pool) { entry in
                if entry.id == slow.id {
                    isSlowUnderWay.withLock { $0 = true }
                    try await Task.sleep(for: .seconds(3600))
                }
                delivered.withLock { $0 += 1 }
            }
            let worker = OutboxWorker(delivery, logger: CapturedLog().logger)
            // More than are carried out at once.
            for _ in 0..<40 {
                try await OutboxStore.enqueue(.message(channel: .email), user: nil, dueAtOnce: true, on: pool)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await worker.run() }
                try await eventually("the others are delivered") { delivered.withLock { $0 } == 40 }
                #expect(isSlowUnderWay.withLock { $0 })
                group.cancelAll()
            }
        }
    }

    /// An authorization code serves once: stopping in the middle of its exchange would lose what came of it.
    @Test func aTaskUnderWayIsFinishedWhenTheServiceStops() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let log = CapturedLog()
            let isUnderWay = Mutex(false)
            let delivery = Self.delivery(on: pool) { _ in
                isUnderWay.withLock { $0 = true }
                // Returns when the worker has been told to stop, and throws if that cancels its tasks.
                try await gracefulShutdown()
            }
            let worker = OutboxWorker(delivery, logger: log.logger)
            try await OutboxStore.enqueue(.exchangeCode(subject: "001"), user: nil, dueAtOnce: true, on: pool)
            let services = ServiceGroup(
                configuration: ServiceGroupConfiguration(services: [worker], logger: CapturedLog().logger))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await services.run() }
                try await eventually("the task is under way") { isUnderWay.withLock { $0 } }
                await services.triggerGracefulShutdown()
                try await group.waitForAll()
            }
            #expect(log.lines == [])
            let left = try await pool.query("SELECT id FROM outbox")
            #expect(left.isEmpty)
        }
    }

    @Test func aClaimThatFailsIsLogged() async throws {
        try await withDatabase { database in
            let log = CapturedLog()
            let worker = worker(on: database.pool, log: log)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await worker.run() }
                try await eventually("it is logged") {
                    log.lines.contains { $0.hasPrefix("warning The outbox could not be read") }
                }
                group.cancelAll()
            }
        }
    }
}
