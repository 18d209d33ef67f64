public import Logging

/// Brings a database's schema to the state that the program was written for.
///
/// Any number of replicas may do so at once: an advisory lock lets one work while the others wait and then find nothing
/// left to do. Each migration and its entry in the table `schema_migrations` are one transaction, so a migration that
/// fails, or a process that dies, leaves no half of one behind.
public struct PostgresMigrator: Sendable {
    private let migrations: [PostgresMigration]
    private let logger: Logger
    /// For everything together, waiting for other replicas included. Migrations may take long: the connection's
    /// statement and lock time-outs do not apply.
    public var timeout: Duration = .seconds(600)
    /// How long a script may wait for a lock on a table. Whoever uses the table meanwhile has to wait behind it, so a
    /// script that waited this long in vain is rolled back and run again after a pause, until `timeout` is over.
    public var lockTimeout: Duration = .seconds(2)

    /// Takes the migrations in any order.
    public init(migrations: [PostgresMigration], logger: Logger) {
        self.migrations = migrations.sorted { $0.number < $1.number }
        self.logger = logger
    }

    /// Takes all steps that have not been taken, up to number `last` if given. Steps of a newer program are left alone.
    ///
    /// - Returns: The numbers of the steps taken now.
    /// - Throws: ``PostgresError``: code `migration` if numbers repeat, a taken step's script has changed, or a step
    ///   that was not taken comes before one that was; code `server` if a script fails.
    @discardableResult
    public func up(on connection: PostgresConnection, to last: Int? = nil) async throws -> [Int] {
        try await locked(connection) { deadline in
            let status = try await checkedStatus(on: connection, deadline: deadline)
            let newest = status.last { $0.state != .pending }?.number ?? 0
            let pending = Set(status.filter { $0.state == .pending }.map(\.number))
            if let late = pending.min(), late < newest {
                throw PostgresError(.migration, "migration \(late) has not been taken, but \(newest) has")
            }
            let steps = migrations.filter { pending.contains($0.number) && $0.number <= last ?? .max }
            for step in steps {
                try await run(step.up, of: step, on: connection, deadline: deadline) {
                    """
                    INSERT INTO schema_migrations (number, name, checksum)
                    VALUES (\(step.number), \(step.name), sha256(\(step.up)))
                    """
                }
                logger.info("migration taken", metadata: ["migration": "\(step.number)_\(step.name)"])
            }
            return steps.map(\.number)
        }
    }

    /// Takes back all steps with a number above `last`, newest first.
    ///
    /// - Returns: The numbers of the steps taken back.
    /// - Throws: ``PostgresError``: code `migration` if one of them is unknown or its script has changed; code `server`
    ///   if a script fails.
    @discardableResult
    public func down(on connection: PostgresConnection, to last: Int) async throws -> [Int] {
        try await locked(connection) { deadline in
            let status = try await checkedStatus(on: connection, deadline: deadline)
            let taken = status.filter { $0.state != .pending && $0.number > last }.reversed()
            let steps = try taken.map { entry in
                guard let step = migrations.first(where: { $0.number == entry.number }) else {
                    throw PostgresError(.migration, "migration \(entry.number) is of a newer program")
                }
                return step
            }
            for step in steps {
                try await run(step.down, of: step, on: connection, deadline: deadline) {
                    "DELETE FROM schema_migrations WHERE number = \(step.number)"
                }
                logger.info("migration taken back", metadata: ["migration": "\(step.number)_\(step.name)"])
            }
            return steps.map(\.number)
        }
    }

    /// Where every migration stands, those of a newer program included, in order.
    ///
    /// - Throws: ``PostgresError``.
    public func status(on connection: PostgresConnection) async throws -> [PostgresMigrationStatus] {
        try await status(on: connection, deadline: .now + timeout)
    }

    // MARK: -

    private func status(
        on connection: PostgresConnection, deadline: ContinuousClock.Instant
    ) async throws -> [PostgresMigrationStatus] {
        let exists = try await connection.query(
            "SELECT to_regclass('schema_migrations') IS NOT NULL", deadline: deadline)
        var applied: [Int: (name: String, isSame: Bool)] = [:]
        if try exists[0].decode(Bool.self) {
            let numbers = migrations.map(\.number)
            let scripts = migrations.map { String(decoding: $0.up, as: UTF8.self) }
            let rows = try await connection.query(
                """
                SELECT taken.number::bigint, taken.name, taken.checksum = sha256(convert_to(known.script, 'UTF8'))
                FROM schema_migrations AS taken
                LEFT JOIN unnest(\(numbers), \(scripts)) AS known (number, script) ON known.number = taken.number
                """, deadline: deadline)
            for (number, name, isSame) in try rows.decode((Int, String, Bool?).self) {
                applied[number] = (name, isSame ?? false)
            }
        }
        let known = migrations.map { migration in
            let entry = applied.removeValue(forKey: migration.number)
            return PostgresMigrationStatus(
                number: migration.number, name: migration.name,
                state: entry.map { $0.isSame ? .applied : .changed } ?? .pending)
        }
        let unknown = applied.map { PostgresMigrationStatus(number: $0, name: $1.name, state: .unknown) }
        return (known + unknown).sorted { $0.number < $1.number }
    }

    private func checkedStatus(
        on connection: PostgresConnection, deadline: ContinuousClock.Instant
    ) async throws -> [PostgresMigrationStatus] {
        guard Set(migrations.map(\.number)).count == migrations.count, migrations.allSatisfy({ $0.number > 0 }) else {
            throw PostgresError(.migration, "the numbers of migrations start at 1 and do not repeat")
        }
        let status = try await status(on: connection, deadline: deadline)
        if let changed = status.first(where: { $0.state == .changed }) {
            throw PostgresError(
                .migration, "migration \(changed.number)_\(changed.name) was changed after it had been taken")
        }
        return status
    }

    /// Runs a script as often as it takes to get its locks: each time only for as long as others may be kept waiting.
    private func run(
        _ script: [UInt8], of step: PostgresMigration, on connection: PostgresConnection,
        deadline: ContinuousClock.Instant, recordedBy record: () -> PostgresQuery
    ) async throws {
        let record = record()
        while true {
            do {
                return try await attempt(script, of: step, on: connection, deadline: deadline, recordedBy: record)
            } catch let error as PostgresError where error.sqlState == .lockNotAvailable {
                guard ContinuousClock.now + lockTimeout < deadline else { throw error }
                logger.notice(
                    "migration waits for a lock", metadata: ["migration": "\(step.number)_\(step.name)"])
            }
            // For as long, those who waited behind it have the table.
            try await Task.sleep(for: lockTimeout)
        }
    }

    private func attempt(
        _ script: [UInt8], of step: PostgresMigration, on connection: PostgresConnection,
        deadline: ContinuousClock.Instant, recordedBy record: PostgresQuery
    ) async throws {
        try await connection.withTransaction(deadline: deadline) { transaction in
            try await transaction.query(record)
            do throws(PostgresError) {
                let milliseconds = max(1, Int(lockTimeout / .milliseconds(1)))
                try await connection.execute(
                    script: "SET LOCAL lock_timeout = \(milliseconds)", deadline: deadline)
                try await connection.execute(script: String(decoding: script, as: UTF8.self), deadline: deadline)
            } catch {
                throw PostgresError(
                    error.code, "migration \(step.number)_\(step.name): \(error.message)", sqlState: error.sqlState,
                    constraint: error.constraint, outcomeIsUnknown: error.outcomeIsUnknown, underlying: error)
            }
        }
    }

    /// Runs `body` while no other process migrates this database.
    private func locked<Value: Sendable>(
        _ connection: PostgresConnection, _ body: (ContinuousClock.Instant) async throws -> Value
    ) async throws -> Value {
        guard connection.configuration.pooler == .none else {
            throw PostgresError(.migration, "migrations need a session of their own: give an address past the pooler")
        }
        let deadline = ContinuousClock.now + timeout
        // The lock is held by the session: if this process dies, the server frees it.
        try await connection.execute(
            script: "SET statement_timeout = 0; SET lock_timeout = 0; SELECT pg_advisory_lock(\(Self.lock))",
            deadline: deadline)
        let outcome: Result<Value, any Error>
        do {
            try await connection.execute(
                script: """
                    CREATE TABLE IF NOT EXISTS schema_migrations (
                        number integer PRIMARY KEY,
                        name text NOT NULL,
                        checksum bytea NOT NULL,
                        applied_at timestamptz NOT NULL DEFAULT now()
                    )
                    """, deadline: deadline)
            outcome = .success(try await body(deadline))
        } catch {
            outcome = .failure(error)
        }
        if connection.isClosed { return try outcome.get() }
        try await connection.execute(
            script: "SELECT pg_advisory_unlock(\(Self.lock)); RESET statement_timeout; RESET lock_timeout",
            deadline: deadline)
        return try outcome.get()
    }

    /// Advisory locks are per database; the number only has to differ from other uses ("migrate" in ASCII).
    private static let lock: Int64 = 0x6d_6967_7261_7465
}
