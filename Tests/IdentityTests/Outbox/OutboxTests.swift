import Foundation
import Postgres
import ServiceLifecycle
import Synchronization
import TestKit
import Testing

@testable import IdentityService

@Suite struct OutboxTests {
    private func worker(
        on database: PostgresPool, log: CapturedLog, delivered: @escaping @Sendable (OutboxEntry) -> Void = { _ in }
    ) -> OutboxWorker {
        let store = OutboxStore(database: database)
        return OutboxWorker(store: store, logger: log.logger) { entry in
            delivered(entry)
            try await store.complete(entry)
        }
    }

    /// A kind of task that only a newer version knows, and a step that this one does not.
    @Test(
        arguments: [
            ("brew_coffee", #"{"brewCoffee":{}}"#), ("deletion", #"{"deletion":{"_0":"tidyUp"}}"#),
            ("take_back", "null"),
        ])
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

    @Test func tellsWhatWaitsAndSinceWhen() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let store = OutboxStore(database: pool)
            let none = OutboxBacklog(count: 0, age: 0)
            #expect(
                try await store.backlog() == [.tokens: none, .devices: none, .apple: none, .mail: none, .phone: none])
            let first = try await OutboxStore.enqueue(.revokeUnused(session: UUID()), user: nil, on: pool)
            try await OutboxStore.enqueue(.revokeUnused(session: UUID()), user: nil, on: pool)
            try await OutboxStore.enqueue(.passwordReset(channel: .email, language: nil), user: nil, on: pool)
            try await pool.query("UPDATE outbox SET created_at = now() - interval '2 hours' WHERE id = \(first.id)")
            let backlog = try await store.backlog()
            #expect(backlog[.tokens]?.count == 2 && backlog[.mail]?.count == 1 && backlog[.devices] == none)
            #expect((7200..<7260).contains(backlog[.tokens]?.age ?? 0))
            #expect((0..<60).contains(backlog[.mail]?.age ?? -1))
            try await store.complete(first)
            #expect(try await store.backlog()[.tokens]?.count == 1)
        }
    }

    @Test func tellsWhenTheNextTaskIsDue() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let store = OutboxStore(database: pool)
            #expect(try await store.waits().isEmpty)
            try await OutboxStore.enqueue(.revokeUnused(session: UUID()), user: nil, dueAtOnce: true, on: pool)
            try await OutboxStore.enqueue(.revokeUnused(session: UUID()), user: nil, on: pool)
            try await OutboxStore.enqueue(.message(channel: .phone), user: nil, on: pool)
            let waits = try await store.waits()
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
            let store = OutboxStore(database: pool)
            let log = CapturedLog()
            let told = Mutex<[OutboxTask]>([])
            let worker = OutboxWorker(store: store, logger: log.logger) { entry in
                told.withLock { $0.append(entry.task) }
                if entry.task == slow { try await Task.sleep(for: .seconds(3600)) }
                try await store.complete(entry)
            }
            for _ in 0..<20 { try await OutboxStore.enqueue(slow, user: nil, dueAtOnce: true, on: pool) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await worker.run() }
                try await eventually("the slow destination has a task") { told.withLock { $0.contains(slow) } }
                let others = Self.tasks.filter { $0 != slow }
                for task in others { try await OutboxStore.enqueue(task, user: nil, dueAtOnce: true, on: pool) }
                worker.wake()
                try await eventually("the others are told") {
                    told.withLock { told in others.allSatisfy(told.contains) }
                }
                group.cancelAll()
            }
        }
    }

    /// An exchange with a server that hangs holds one place, and no task of the same destination behind it.
    @Test func aSlowTaskHoldsUpNoOtherOfItsDestination() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let store = OutboxStore(database: pool)
            let isSlowUnderWay = Mutex(false)
            let delivered = Mutex(0)
            let slow = try await OutboxStore.enqueue(.message(channel: .email), user: nil, dueAtOnce: true, on: pool)
            let worker = OutboxWorker(store: store, logger: CapturedLog().logger) { entry in
                if entry.id == slow.id {
                    isSlowUnderWay.withLock { $0 = true }
                    try await Task.sleep(for: .seconds(3600))
                }
                try await store.complete(entry)
                delivered.withLock { $0 += 1 }
            }
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
            let store = OutboxStore(database: pool)
            let log = CapturedLog()
            let isUnderWay = Mutex(false)
            let worker = OutboxWorker(store: store, logger: log.logger) { entry in
                isUnderWay.withLock { $0 = true }
                // Returns when the worker has been told to stop, and throws if that cancels its tasks.
                try await gracefulShutdown()
                try await store.complete(entry)
            }
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
