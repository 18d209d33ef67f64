public import Logging

/// Brings a database's schema to the state that the program was written for.
///
/// Any number of replicas may do so at once: an advisory lock lets one migrate while the others wait, and these then
/// find nothing to do. Each migration's script and its entry in the table `schema_migrations` are one transaction, so a
/// failed script or a killed process leaves no partial migration. The SQL files that are to be replaced, and their
/// entries in `schema_files`, are one more transaction.
///
/// A migration's ``PostgresMigration/indexes`` are built before its script, outside a transaction. A build that is
/// interrupted leaves an invalid index: the next run drops it and builds it again.
public struct PostgresMigrator: Sendable {
    private let migrations: PostgresMigrations
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

    /// Brings databases to the schema of `migrations`.
    public init(migrations: PostgresMigrations, logger: Logger) {
        self.migrations = migrations
        self.logger = logger
    }

    /// Applies all pending steps, up to number `last` if given. Steps of a newer program stay unchanged. Indexes of
    /// applied steps are built again if they are invalid or missing, unless a newer program has migrated the database.
    ///
    /// Then it runs the SQL files of which the database has an earlier version or none, unless a step is still pending:
    /// functions may need all steps of their program. Files of a newer program stay unchanged.
    ///
    /// - Returns: The steps and files that were applied, by number and name.
    /// - Throws: ``PostgresError``: code `migration` if numbers repeat, an applied step or file has changed, the
    ///   database's steps were numbered before these, or a pending step precedes an applied one; code `server` if a
    ///   script or an index fails.
    @discardableResult
    public func up(on connection: PostgresConnection, to last: Int? = nil) async throws -> [String] {
        try await locked(connection) {
            let status = try await checkedStatus(on: connection)
            let newest = status.last { $0.state != .pending }?.number ?? 0
            let pending = Set(status.filter { $0.state == .pending }.map(\.number))
            if let late = pending.min(), late < newest {
                throw PostgresError(.migration, "migration \(late) is pending, but \(newest) is applied")
            }
            let known = migrations.steps.filter { $0.number <= last ?? .max }
            let steps = known.filter { pending.contains($0.number) }
            let files = try await steps.count == pending.count ? pendingFiles(on: connection) : []
            try await createTables(on: connection)
            if !status.contains(where: { $0.state == .unknown }) {
                for step in known where !pending.contains(step.number) {
                    try await buildIndexes(of: step, on: connection)
                }
            }
            if !steps.isEmpty || !files.isEmpty { try await checkPartitioning(on: connection) }
            for step in steps {
                try await buildIndexes(of: step, on: connection)
                try await run(step.up, of: step, on: connection) {
                    """
                    INSERT INTO schema_migrations (number, name, checksum)
                    VALUES (\(step.number), \(step.name), sha256(\(step.up)))
                    """
                }
                logger.info("migration applied", metadata: ["migration": "\(step.label)"])
            }
            if !files.isEmpty { try await run(files, on: connection) }
            return steps.map(\.label) + files.map(\.label)
        }
    }

    /// Undoes all steps with a number above `last`, newest first.
    ///
    /// The database forgets the versions of SQL files with the first step that is undone, because the files may need
    /// it: the next ``up(on:to:)`` runs those of its program, even if they are older. Functions stay until then. With
    /// the last step that is left, all functions of the schema that the role owns are dropped.
    ///
    /// - Returns: The steps that were undone, by number and name.
    /// - Throws: ``PostgresError``: code `migration` if one of them is unknown or its script has changed; code `server`
    ///   if a script fails.
    @discardableResult
    public func down(on connection: PostgresConnection, to last: Int) async throws -> [String] {
        try await locked(connection) {
            let taken = try await checkedStatus(on: connection).filter { $0.state != .pending }
            let steps = try taken.reversed().filter { $0.number > last }.map { entry in
                guard let step = migrations.steps.first(where: { $0.number == entry.number }) else {
                    throw PostgresError(.migration, "migration \(entry.number) is of a newer program")
                }
                return step
            }
            if !steps.isEmpty { try await checkPartitioning(on: connection) }
            for step in steps {
                let rest = step.number == taken[0].number ? Self.dropFunctions : []
                try await run(step.down + rest, of: step, on: connection) {
                    """
                    WITH forgotten AS (DELETE FROM schema_files)
                    DELETE FROM schema_migrations WHERE number = \(step.number)
                    """
                }
                logger.info("migration undone", metadata: ["migration": "\(step.label)"])
            }
            return steps.map(\.label)
        }
    }

    /// The state of every step, those of a newer program included, in order.
    ///
    /// - Throws: ``PostgresError``.
    public func status(on connection: PostgresConnection) async throws -> [PostgresMigrationStatus] {
        var applied: [Int: (name: String, isSame: Bool)] = [:]
        if try await exists("schema_migrations", on: connection) {
            let numbers = migrations.steps.map(\.number)
            let scripts = migrations.steps.map { String(decoding: $0.up, as: UTF8.self) }
            let rows = try await connection.query(
                """
                SELECT taken.number::bigint, taken.name, taken.checksum = sha256(convert_to(known.script, 'UTF8'))
                FROM schema_migrations AS taken
                LEFT JOIN unnest(\(numbers), \(scripts)) AS known (number, script) ON known.number = taken.number
                """, deadline: .now + timeout)
            for (number, name, isSame) in try rows.decode((Int, String, Bool?).self) {
                applied[number] = (name, isSame ?? false)
            }
        }
        let known = migrations.steps.map { step in
            guard let entry = applied.removeValue(forKey: step.number) else {
                return PostgresMigrationStatus(number: step.number, name: step.name, state: .pending)
            }
            return PostgresMigrationStatus(
                number: step.number, name: entry.name,
                state: entry.name != step.name ? .replaced : entry.isSame ? .applied : .changed)
        }
        let unknown = applied.map { PostgresMigrationStatus(number: $0, name: $1.name, state: .unknown) }
        return (known + unknown).sorted { $0.number < $1.number }
    }

    /// The state of every SQL file: those of the program in its order, then those that only the database has.
    ///
    /// - Throws: ``PostgresError``: code `migration` if a file has no version.
    public func fileStatus(on connection: PostgresConnection) async throws -> [PostgresSQLFileStatus] {
        var applied: [String: (version: Int, isSame: Bool)] = [:]
        if try await exists("schema_files", on: connection) {
            let scripts = migrations.files.map { String(decoding: $0.script, as: UTF8.self) }
            let rows = try await connection.query(
                """
                SELECT taken.name, taken.version::bigint, taken.checksum = sha256(convert_to(known.script, 'UTF8'))
                FROM schema_files AS taken
                LEFT JOIN unnest(\(migrations.files.map(\.name)), \(scripts)) AS known (name, script)
                    ON known.name = taken.name
                """, deadline: .now + timeout)
            for (name, version, isSame) in try rows.decode((String, Int, Bool?).self) {
                applied[name] = (version, isSame ?? false)
            }
        }
        let known = try migrations.files.map { file in
            let version = try file.version
            guard let entry = applied.removeValue(forKey: file.name), entry.version >= version else {
                return PostgresSQLFileStatus(name: file.name, version: version, state: .pending)
            }
            return PostgresSQLFileStatus(
                name: file.name, version: entry.version,
                state: entry.version > version ? .unknown : entry.isSame ? .applied : .changed)
        }
        let unknown = applied.map { PostgresSQLFileStatus(name: $0, version: $1.version, state: .unknown) }
        return known + unknown.sorted { $0.name < $1.name }
    }

    // MARK: -

    private func exists(_ table: String, on connection: PostgresConnection) async throws -> Bool {
        try await connection.query("SELECT to_regclass(\(table)) IS NOT NULL", deadline: .now + timeout)[0].decode(
            Bool.self)
    }

    private func createTables(on connection: PostgresConnection) async throws {
        try await connection.execute(
            script: """
                CREATE TABLE IF NOT EXISTS schema_migrations (
                    number integer PRIMARY KEY,
                    name text NOT NULL,
                    checksum bytea NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now()
                );
                CREATE TABLE IF NOT EXISTS schema_files (
                    name text PRIMARY KEY,
                    version integer NOT NULL,
                    checksum bytea NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now()
                )
                """, deadline: .now + timeout)
    }

    /// A step that changed a table, or a file that gave it a trigger, would make the unfinished copy differ from it.
    private func checkPartitioning(on connection: PostgresConnection) async throws {
        guard try await isPartitioning(on: connection) else { return }
        throw PostgresError(
            .migration, "the partitioning of tables was interrupted: run `migrate partition` again, or with --abandon")
    }

    private func checkedStatus(on connection: PostgresConnection) async throws -> [PostgresMigrationStatus] {
        let steps = migrations.steps
        guard Set(steps.map(\.number)).count == steps.count, steps.allSatisfy({ $0.number > 0 }) else {
            throw PostgresError(.migration, "the numbers of migrations start at 1 and do not repeat")
        }
        let status = try await status(on: connection)
        if let replaced = status.first(where: { $0.state == .replaced }) {
            throw PostgresError(
                .migration,
                "the database has the migration \(replaced), which this version has replaced. "
                    + migrations.replacement)
        }
        if let changed = status.first(where: { $0.state == .changed }) {
            throw PostgresError(.migration, "migration \(changed) was changed after it had been taken")
        }
        return status
    }

    private func pendingFiles(on connection: PostgresConnection) async throws -> [PostgresSQLFile] {
        let status = try await fileStatus(on: connection)
        if let changed = status.first(where: { $0.state == .changed }) {
            throw PostgresError(
                .migration, "\(changed) differs from the file of that version in the database: raise its version")
        }
        let pending = Set(status.filter { $0.state == .pending }.map(\.name))
        return migrations.files.filter { pending.contains($0.name) }
    }

    private func run(_ files: [PostgresSQLFile], on connection: PostgresConnection) async throws {
        let deadline = ContinuousClock.now + timeout
        let names = files.map(\.label).joined(separator: ", ")
        try await retryingLocks(
            "SQL files wait for a lock", ["files": "\(names)"], until: deadline, on: connection
        ) { transaction in
            for file in files {
                do throws(PostgresError) {
                    try await connection.execute(
                        script: String(decoding: file.script, as: UTF8.self), deadline: deadline)
                } catch {
                    throw described(error, of: file.label)
                }
                try await transaction.query(
                    """
                    INSERT INTO schema_files (name, version, checksum)
                    VALUES (\(file.name), \(try file.version), sha256(\(file.script)))
                    ON CONFLICT (name) DO UPDATE SET
                        version = excluded.version, checksum = excluded.checksum, applied_at = excluded.applied_at
                    """)
            }
        }
        logger.info("SQL files applied", metadata: ["files": "\(names)"])
    }

    /// Functions of extensions stay.
    private static let dropFunctions = Array(
        """

        ;
        DO $$
        DECLARE
            name regprocedure;
        BEGIN
            FOR name IN
                SELECT oid FROM pg_proc AS function
                WHERE pronamespace = current_schema()::regnamespace AND proowner = current_user::regrole
                    AND NOT EXISTS (
                        SELECT FROM pg_depend
                        WHERE classid = 'pg_proc'::regclass AND objid = function.oid AND deptype = 'e')
            LOOP
                EXECUTE format('DROP ROUTINE %s', name);
            END LOOP;
        END
        $$
        """.utf8)

    /// Builds the step's missing indexes, and rebuilds its invalid ones.
    private func buildIndexes(of step: PostgresMigration, on connection: PostgresConnection) async throws {
        for index in try ConcurrentIndex.list(step) {
            do {
                try await build(index, on: connection, deadline: .now + buildTimeout)
            } catch let error as PostgresError {
                throw described(error, of: "migration \(step.label)")
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
            "migration waits for a lock", ["migration": "\(step.label)"], until: deadline, on: connection
        ) { transaction in
            try await transaction.query(record)
            do throws(PostgresError) {
                try await connection.execute(script: String(decoding: script, as: UTF8.self), deadline: deadline)
            } catch {
                throw described(error, of: "migration \(step.label)")
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

    private func described(_ error: PostgresError, of script: String) -> PostgresError {
        PostgresError(
            error.code, "\(script): \(error.message)", sqlState: error.sqlState,
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
