public import Logging

/// Brings a database's schema to the state that the program was written for.
///
/// Any number of replicas may do so at once: an advisory lock lets one migrate while the others wait, and these then
/// find nothing to do. Each migration's script and its entry in the table `schema_migrations` are one transaction, so a
/// failed script or a killed process leaves no partial migration.
///
/// A migration's ``PostgresMigration/indexes`` are built before its script, outside a transaction. A build that is
/// interrupted leaves an invalid index: the next run drops it and builds it again.
public struct PostgresMigrator: Sendable {
    private let migrations: [PostgresMigration]
    let logger: Logger
    /// The timeout of each script, including the wait for its locks. The connection's statement and lock timeouts do
    /// not apply, because scripts may take long.
    public var timeout: Duration = .seconds(600)
    /// The timeout of each index, and of the wait while another process migrates the database.
    public var buildTimeout: Duration = .seconds(21_600)
    /// How long a script may wait for a lock on a table. Other sessions that use the table wait behind it meanwhile.
    /// After this time the script is rolled back, and retried after a pause until `timeout`. It is less than
    /// PostgreSQL's `deadlock_timeout` (1 s), so that the script yields if a script and a request wait for each other.
    public var lockTimeout: Duration = .milliseconds(500)

    /// Takes the migrations in any order.
    public init(migrations: [PostgresMigration], logger: Logger) {
        self.migrations = migrations.sorted { $0.number < $1.number }
        self.logger = logger
    }

    /// Applies all pending steps, up to number `last` if given. Steps of a newer program stay unchanged. Indexes of
    /// applied steps are built again if they are invalid or missing, unless a newer program has migrated the database.
    ///
    /// - Returns: The numbers of the steps that were applied.
    /// - Throws: ``PostgresError``: code `migration` if numbers repeat, the script of an applied step has changed, or a
    ///   pending step precedes an applied one; code `server` if a script or an index fails.
    @discardableResult
    public func up(on connection: PostgresConnection, to last: Int? = nil) async throws -> [Int] {
        try await locked(connection) {
            let status = try await checkedStatus(on: connection)
            let newest = status.last { $0.state != .pending }?.number ?? 0
            let pending = Set(status.filter { $0.state == .pending }.map(\.number))
            if let late = pending.min(), late < newest {
                throw PostgresError(.migration, "migration \(late) is pending, but \(newest) is applied")
            }
            let known = migrations.filter { $0.number <= last ?? .max }
            if !status.contains(where: { $0.state == .unknown }) {
                for step in known where !pending.contains(step.number) {
                    try await buildIndexes(of: step, on: connection)
                }
            }
            let steps = known.filter { pending.contains($0.number) }
            if !steps.isEmpty { try await checkPartitioning(on: connection) }
            for step in steps {
                try await buildIndexes(of: step, on: connection)
                try await run(step.up, of: step, on: connection) {
                    """
                    INSERT INTO schema_migrations (number, name, checksum)
                    VALUES (\(step.number), \(step.name), sha256(\(step.up)))
                    """
                }
                logger.info("migration applied", metadata: ["migration": "\(step.number)_\(step.name)"])
            }
            return steps.map(\.number)
        }
    }

    /// Undoes all steps with a number above `last`, newest first.
    ///
    /// - Returns: The numbers of the steps that were undone.
    /// - Throws: ``PostgresError``: code `migration` if one of them is unknown or its script has changed; code `server`
    ///   if a script fails.
    @discardableResult
    public func down(on connection: PostgresConnection, to last: Int) async throws -> [Int] {
        try await locked(connection) {
            let status = try await checkedStatus(on: connection)
            let taken = status.filter { $0.state != .pending && $0.number > last }.reversed()
            if !taken.isEmpty { try await checkPartitioning(on: connection) }
            let steps = try taken.map { entry in
                guard let step = migrations.first(where: { $0.number == entry.number }) else {
                    throw PostgresError(.migration, "migration \(entry.number) is of a newer program")
                }
                return step
            }
            for step in steps {
                try await run(step.down, of: step, on: connection) {
                    "DELETE FROM schema_migrations WHERE number = \(step.number)"
                }
                logger.info("migration undone", metadata: ["migration": "\(step.number)_\(step.name)"])
            }
            return steps.map(\.number)
        }
    }

    /// The state of every migration, those of a newer program included, in order.
    ///
    /// - Throws: ``PostgresError``.
    public func status(on connection: PostgresConnection) async throws -> [PostgresMigrationStatus] {
        let deadline = ContinuousClock.now + timeout
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

    // MARK: -

    /// A step that changed a table would make the unfinished copy differ from it.
    private func checkPartitioning(on connection: PostgresConnection) async throws {
        guard try await isPartitioning(on: connection) else { return }
        throw PostgresError(
            .migration, "the partitioning of tables was interrupted: run `migrate partition` again, or with --abandon")
    }

    private func checkedStatus(on connection: PostgresConnection) async throws -> [PostgresMigrationStatus] {
        guard Set(migrations.map(\.number)).count == migrations.count, migrations.allSatisfy({ $0.number > 0 }) else {
            throw PostgresError(.migration, "the numbers of migrations start at 1 and do not repeat")
        }
        let status = try await status(on: connection)
        if let changed = status.first(where: { $0.state == .changed }) {
            throw PostgresError(
                .migration, "migration \(changed.number)_\(changed.name) was changed after it had been taken")
        }
        return status
    }

    /// Builds the step's missing indexes, and rebuilds its invalid ones.
    private func buildIndexes(of step: PostgresMigration, on connection: PostgresConnection) async throws {
        for index in try ConcurrentIndex.list(step) {
            do {
                try await build(index, on: connection, deadline: .now + buildTimeout)
            } catch let error as PostgresError {
                throw described(error, of: step)
            }
        }
    }

    private func build(
        _ index: ConcurrentIndex, on connection: PostgresConnection, deadline: ContinuousClock.Instant
    ) async throws {
        while true {
            let isValid = try await isValid(index, on: connection)
            do throws(PostgresError) {
                switch isValid {
                case true?:
                    return
                case false?:
                    logger.notice("invalid index dropped", metadata: ["index": "\(index.name)"])
                    try await connection.execute(
                        script: "DROP INDEX CONCURRENTLY IF EXISTS \(index.name)", deadline: deadline)
                case nil:
                    logger.info("index is built", metadata: ["index": "\(index.name)"])
                    try await connection.execute(script: index.statement, deadline: deadline)
                }
            } catch {
                // Another session that changes the table's indexes, such as an operator's, may wait for this one.
                if error.sqlState == .deadlockDetected, .now + lockTimeout < deadline {
                    try await Task.sleep(for: lockTimeout)
                    continue
                }
                // An invalid unique index would refuse rows.
                if !connection.isClosed, try await self.isValid(index, on: connection) == false {
                    try await connection.execute(
                        script: "DROP INDEX CONCURRENTLY IF EXISTS \(index.name)", deadline: deadline)
                }
                throw error
            }
        }
    }

    /// - Returns: nil if the index does not exist.
    private func isValid(_ index: ConcurrentIndex, on connection: PostgresConnection) async throws -> Bool? {
        try await connection.query(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(\(index.name))", deadline: .now + timeout
        ).decode(Bool.self).first
    }

    private func run(
        _ script: [UInt8], of step: PostgresMigration, on connection: PostgresConnection,
        recordedBy record: () -> PostgresQuery
    ) async throws {
        let record = record()
        let deadline = ContinuousClock.now + timeout
        try await retryingLocks(
            "migration waits for a lock", ["migration": "\(step.number)_\(step.name)"], until: deadline, on: connection
        ) { transaction in
            try await transaction.query(record)
            do throws(PostgresError) {
                try await connection.execute(script: String(decoding: script, as: UTF8.self), deadline: deadline)
            } catch {
                throw described(error, of: step)
            }
        }
    }

    /// Runs a transaction, and repeats it until it gets its locks. Each attempt waits for a lock for a short time only,
    /// because other sessions wait behind it.
    ///
    /// - Parameters:
    ///   - notice: logged before a repetition.
    ///   - wait: the longest wait for a lock; ``lockTimeout`` without it.
    ///   - deadline: the end of the repetitions. One attempt takes ``timeout`` at most.
    func retryingLocks(
        _ notice: Logger.Message, _ metadata: Logger.Metadata, for wait: Duration? = nil,
        until deadline: ContinuousClock.Instant, on connection: PostgresConnection,
        _ body: (PostgresTransaction) async throws -> Void
    ) async throws {
        let milliseconds = max(1, Int((wait ?? lockTimeout) / .milliseconds(1)))
        while true {
            do {
                return try await connection.withTransaction(deadline: min(.now + timeout, deadline)) { transaction in
                    try await transaction.query("SELECT set_config('lock_timeout', \("\(milliseconds)"), true)")
                    try await body(transaction)
                }
            } catch let error as PostgresError where Self.isRetryable(error) {
                guard ContinuousClock.now + lockTimeout < deadline else { throw error }
                logger.notice(notice, metadata: metadata)
            }
            // The sessions that waited behind the transaction use the table meanwhile.
            try await Task.sleep(for: lockTimeout)
        }
    }

    /// Whether a transaction was rolled back because it did not get a lock in time, or because of a deadlock.
    private static func isRetryable(_ error: PostgresError) -> Bool {
        error.sqlState == .lockNotAvailable || error.sqlState == .deadlockDetected
    }

    private func described(_ error: PostgresError, of step: PostgresMigration) -> PostgresError {
        PostgresError(
            error.code, "migration \(step.number)_\(step.name): \(error.message)", sqlState: error.sqlState,
            constraint: error.constraint, outcomeIsUnknown: error.outcomeIsUnknown, underlying: error)
    }

    /// Runs `body` while no other process migrates this database.
    func locked<Value: Sendable>(
        _ connection: PostgresConnection, _ body: () async throws -> Value
    ) async throws -> Value {
        guard connection.configuration.pooler == .none else {
            throw PostgresError(.migration, "migrations need a session of their own: give an address past the pooler")
        }
        try await connection.execute(
            script: "SET statement_timeout = 0; SET lock_timeout = 0", deadline: .now + timeout)
        try await lock(connection)
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
                    """, deadline: .now + timeout)
            outcome = .success(try await body())
        } catch {
            outcome = .failure(error)
        }
        if connection.isClosed { return try outcome.get() }
        try await connection.execute(
            script: "SELECT pg_advisory_unlock(\(Self.lock)); RESET statement_timeout; RESET lock_timeout",
            deadline: .now + timeout)
        return try outcome.get()
    }

    /// Acquires the lock for the session. If this process dies, the server releases it as soon as the running statement
    /// has ended.
    ///
    /// It polls, because a session that waits in `pg_advisory_lock` holds a snapshot, and a concurrent build waits for
    /// the end of that snapshot.
    private func lock(_ connection: PostgresConnection) async throws {
        let deadline = ContinuousClock.now + buildTimeout
        while true {
            let isLocked = try await connection.query(
                "SELECT pg_try_advisory_lock(\(Self.lock))", deadline: .now + timeout)[0].decode(Bool.self)
            if isLocked { return }
            guard .now < deadline else {
                throw PostgresError(.timedOut, "another process has migrated the database for \(buildTimeout)")
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Advisory locks are per database; the number only has to differ from other uses ("migrate" in ASCII).
    private static let lock: Int64 = 0x6d_6967_7261_7465
}
