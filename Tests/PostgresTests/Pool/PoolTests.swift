import Foundation
import Postgres
import TestKit
import Testing

@Suite struct PoolTests {
    @Test func tenThousandQueriesOverFourConnections() async throws {
        try await withPool(maximumConnections: 4, queueLimit: 1_000) { pool in
            let backends = try await withThrowingTaskGroup(of: Set<Int>.self) { group in
                for task in 0..<1_000 {
                    group.addTask {
                        var backends: Set<Int> = []
                        for query in 0..<10 {
                            let expected = task * 10 + query
                            let rows = try await pool.query(
                                "SELECT \(expected), pg_backend_pid()", deadline: .now + .seconds(60))
                            let (number, backend) = try rows[0].decode((Int, Int).self)
                            #expect(number == expected)
                            backends.insert(backend)
                        }
                        return backends
                    }
                }
                return try await group.reduce(into: Set()) { $0.formUnion($1) }
            }
            #expect((1...4).contains(backends.count))
        }
    }

    @Test func waitingForTheServerHoldsUpNoTask() async throws {
        try await withPool(maximumConnections: 16) { pool in
            try await pool.withConnection { holder in
                try await holder.query("SELECT pg_advisory_lock(1)")
                try await withThrowingTaskGroup { group in
                    for _ in 1...15 {
                        group.addTask {
                            try await pool.query(
                                "SELECT pg_advisory_xact_lock_shared(1)", deadline: .now + .seconds(30))
                        }
                    }
                    // More connections wait than there are threads for tasks, and yet this task goes on.
                    try await eventually("15 connections wait") {
                        try await holder.query(
                            """
                            SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                            """)[0].decode(Int.self) == 15
                    }
                    try await holder.query("SELECT pg_advisory_unlock(1)")
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func cancelledTasksLeaveNoAnswersBehind() async throws {
        try await withPool(maximumConnections: 4, queueLimit: 1_000) { pool in
            await withTaskGroup { group in
                for number in 0..<400 {
                    let task = Task {
                        try await pool.query(
                            "SELECT \(number) AS number, pg_sleep(\(Double(number % 3) / 1000))",
                            deadline: .now + .seconds(60))
                    }
                    group.addTask {
                        for _ in 0..<(number % 7) * 50 { await Task.yield() }
                        if number.isMultiple(of: 2) { task.cancel() }
                        switch await task.result {
                        case .success(let rows): #expect(try! rows[0].decode("number", as: Int.self) == number)
                        case .failure(let error as PostgresError): #expect(error.code == .cancelled)
                        case .failure(let error): Issue.record(error)
                        }
                    }
                }
            }
            try await pool.query("SELECT 1", deadline: .now + .seconds(30))
        }
    }

    @Test func callersWaitForABoundedTime() async throws {
        try await withPool(maximumConnections: 1, queueLimit: 1) { pool in
            try await pool.withConnection { _ in
                try await withThrowingTaskGroup { group in
                    for _ in 1...2 {
                        group.addTask {
                            let error = await #expect(throws: PostgresError.self) {
                                try await pool.query("SELECT 1", deadline: .now + .milliseconds(200))
                            }
                            #expect(error?.isUnavailable == true)
                            #expect(error?.outcomeIsUnknown == false)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(try await pool.query("SELECT 1")[0].decode(Int.self) == 1)
        }
    }

    @Test func aCancelledCallerLeavesTheQueue() async throws {
        try await withPool(maximumConnections: 1, queueLimit: 1) { pool in
            try await pool.withConnection { _ in
                for pause in 0..<50 {
                    let task = Task { try await pool.query("SELECT 1", deadline: .now + .seconds(30)) }
                    for _ in 0..<pause { await Task.yield() }
                    task.cancel()
                    // One that stayed would fill the queue, and the next be refused.
                    let error = await #expect(throws: PostgresError.self) { try await task.value }
                    #expect(error?.code == .cancelled)
                }
            }
            #expect(try await pool.query("SELECT 1")[0].decode(Int.self) == 1)
        }
    }

    /// The cancellation finds no caller in the queue yet.
    @Test("A caller is cancelled before it joins the queue: it leaves no entry")
    func cancellationBeforeTheQueue() async throws {
        try await withPool(maximumConnections: 1, queueLimit: 1) { pool in
            try await pool.withConnection { _ in
                for _ in 0..<3 {
                    let task = Task {
                        withUnsafeCurrentTask { $0?.cancel() }
                        try await pool.query("SELECT 1", deadline: .now + .seconds(60))
                    }
                    let error = await #expect(throws: PostgresError.self) { try await task.value }
                    #expect(error?.code == .cancelled)
                }
            }
        }
    }

    @Test func connectionsThatTheServerClosedAreNotUsed() async throws {
        try await withPool(maximumConnections: 3) { pool in
            try await withDatabase { watcher in
                for _ in 1...3 {
                    let backends = try await withThrowingTaskGroup(of: Int32.self) { group in
                        for _ in 1...3 {
                            group.addTask {
                                try await pool.query("SELECT pg_backend_pid() FROM pg_sleep(0.01)")[0].decode(
                                    Int32.self)
                            }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    try await watcher.pool.query("SELECT pg_terminate_backend(pid) FROM unnest(\(backends)) AS pid")
                    try await eventually("the server has closed them") {
                        try await watcher.pool.query(
                            "SELECT FROM pg_stat_activity WHERE pid = ANY(\(backends))"
                        ).isEmpty
                    }
                }
            }
        }
    }

    @Test func connectionsGrowOldAndAreReplaced() async throws {
        try await withPool(maximumConnections: 1, maximumAge: .zero) { pool in
            let first = try await pool.query("SELECT pg_backend_pid()")[0].decode(Int.self)
            let second = try await pool.query("SELECT pg_backend_pid()")[0].decode(Int.self)
            #expect(first != second)
        }
    }

    @Test func aRunningPoolKeepsItsMinimumAndClosesAtTheEnd() async throws {
        try await withDatabase { database in
            var limits = PostgresPoolConfiguration.patient
            limits.minimumConnections = 3
            var configuration = try PostgresConfiguration.patient(database.url)
            configuration.applicationName = "minimum"
            let pool = PostgresPool(configuration: configuration, pool: limits)
            let running = Task { await pool.run() }
            func expectConnections(_ count: Int) async throws {
                try await eventually("\(count) connections") {
                    try await database.pool.query(
                        """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE application_name = 'minimum' AND datname = current_database()
                        """)[0].decode(Int.self) == count
                }
            }
            try await expectConnections(3)
            running.cancel()
            await running.value
            try await expectConnections(0)
            let error = await #expect(throws: PostgresError.self) { try await pool.query("SELECT 1") }
            #expect(error?.code == .closed)
            #expect(await !pool.probe())
        }
    }

    private func withPool(
        maximumConnections: Int, queueLimit: Int = 256, maximumAge: Duration = .seconds(60),
        _ body: (PostgresPool) async throws -> Void
    ) async throws {
        try await withDatabase { database in
            var limits = PostgresPoolConfiguration.patient
            limits.maximumConnections = maximumConnections
            limits.queueLimit = queueLimit
            limits.maximumAge = maximumAge
            let pool = PostgresPool(configuration: try .patient(database.url), pool: limits)
            defer { pool.close() }
            try await body(pool)
        }
    }
}
