import Logging

/// Partitions tables by hash of their column `bucket`, also while other sessions use them.
///
/// A table is partitioned if its primary key contains `bucket`. It gets a partitioned twin, and a trigger repeats every
/// change of the table in the twin. Then its rows are copied, some buckets in a transaction. At the end, one short
/// transaction puts the twins in place of the tables. A run that was interrupted is resumed by the next one.
extension PostgresMigrator {
    /// The buckets are 0 to 4095.
    private static let buckets: Int32 = 4096

    /// The tables that have a bucket and are not partitioned, those first to which the others have foreign keys.
    ///
    /// - Throws: ``PostgresError``.
    public func unpartitionedTables(on connection: PostgresConnection) async throws(PostgresError) -> [String] {
        try await connection.query(
            """
            SELECT class.relname::text FROM pg_class AS class
            JOIN pg_index ON indrelid = class.oid AND indisprimary
            JOIN pg_attribute ON attrelid = class.oid AND attnum = ANY (indkey) AND attname = 'bucket'
            WHERE relkind = 'r' AND NOT relispartition AND relnamespace = current_schema()::regnamespace
            ORDER BY (SELECT count(*) FROM pg_constraint WHERE conrelid = class.oid AND contype = 'f'), relname
            """, deadline: .now + timeout
        ).decode(String.self)
    }

    /// Partitions every table that has a bucket and is not partitioned.
    ///
    /// - Parameters:
    ///   - count: the partitions of each table.
    ///   - isEmpty: throws if one of the tables has rows.
    /// - Returns: The tables.
    /// - Throws: ``PostgresError``: code `migration` for tables with rows.
    @discardableResult
    public func partition(
        into count: Int, on connection: PostgresConnection, ifEmpty isEmpty: Bool = false
    ) async throws -> [String] {
        try await locked(connection) {
            let tables = try await unpartitionedTables(on: connection)
            for table in tables where isEmpty {
                let hasRows = try await connection.query(
                    "SELECT EXISTS (SELECT FROM \(unescaped: table))", deadline: .now + timeout)[0].decode(Bool.self)
                if hasRows { throw PostgresError(.migration, "the table \(table) has rows: run `migrate partition`") }
            }
            guard !tables.isEmpty else { return [] }
            try await connection.execute(
                script: """
                    CREATE TABLE IF NOT EXISTS partition_progress (
                        table_name text PRIMARY KEY,
                        next_bucket integer NOT NULL
                    )
                    """, deadline: .now + timeout)
            for table in tables { try await copy(table, into: count, on: connection) }
            try await retryingLocks("The tables wait for a lock.") {
                try await connection.withTransaction(deadline: .now + timeout) { transaction in
                    try await transaction.query(
                        "SELECT set_config('lock_timeout', \("\(lockTimeout / .milliseconds(1))"), true)")
                    for statement in try await Self.replacement(of: tables, on: transaction) {
                        try await transaction.query(PostgresQuery(unsafe: statement))
                    }
                }
            }
            logger.notice("tables partitioned", metadata: ["partitions": "\(count)"])
            return tables
        }
    }

    /// Copies the table's rows into its twin.
    private func copy(_ table: String, into count: Int, on connection: PostgresConnection) async throws {
        let progress = try await connection.query(
            "SELECT next_bucket FROM partition_progress WHERE table_name = \(table)", deadline: .now + timeout
        ).decode(Int32.self).first
        if progress == nil {
            try await retryingLocks("The table \(table) waits for a lock.") {
                try await connection.withTransaction(deadline: .now + timeout) { transaction in
                    try await transaction.query(
                        "SELECT set_config('lock_timeout', \("\(lockTimeout / .milliseconds(1))"), true)")
                    for statement in try await Self.twin(of: table, partitions: count, on: transaction) {
                        try await transaction.query(PostgresQuery(unsafe: statement))
                    }
                    try await transaction.query(
                        "INSERT INTO partition_progress (table_name, next_bucket) VALUES (\(table), 0)")
                }
            }
        }
        var bucket = progress ?? 0
        // As many buckets in a transaction as take about a tenth of a second.
        var width: Int32 = 16
        while bucket < Self.buckets {
            let end = min(bucket + width, Self.buckets)
            let start = ContinuousClock.now
            try await retryingLocks("The copy of \(table) waits for a lock.") {
                try await copy(bucket..<end, of: table, on: connection)
            }
            width = .now - start < .milliseconds(100) ? min(width * 2, Self.buckets) : max(width / 2, 1)
            bucket = end
        }
        try await connection.execute(script: "ANALYZE \(table)_partitioned", deadline: .now + buildTimeout)
    }

    private func copy(_ buckets: Range<Int32>, of table: String, on connection: PostgresConnection) async throws {
        try await connection.withTransaction(deadline: .now + timeout) { transaction in
            // Less than PostgreSQL's `deadlock_timeout`, so that the copy yields, not a request.
            try await transaction.query("SELECT set_config('lock_timeout', '200', true)")
            // The lock keeps a row from being deleted before the copy is committed. The trigger then deletes the copy. A
            // row that has changed meanwhile is in the twin already, or will replace this copy.
            try await transaction.query(
                """
                INSERT INTO \(unescaped: table)_partitioned
                SELECT * FROM (
                    SELECT * FROM \(unescaped: table)
                    WHERE bucket >= \(buckets.lowerBound) AND bucket < \(buckets.upperBound) FOR KEY SHARE
                ) AS original
                ON CONFLICT DO NOTHING
                """)
            try await transaction.query(
                "UPDATE partition_progress SET next_bucket = \(buckets.upperBound) WHERE table_name = \(table)")
        }
    }

    private func retryingLocks(_ notice: String, _ body: () async throws -> Void) async throws {
        let deadline = ContinuousClock.now + buildTimeout
        while true {
            do {
                return try await body()
            } catch let error as PostgresError where Self.isRetryable(error) && .now < deadline {
                logger.notice("\(notice)")
            }
            try await Task.sleep(for: lockTimeout)
        }
    }

    /// The statements that create a table's partitioned twin, and a trigger that repeats changes of the table in it.
    private static func twin(
        of table: String, partitions: Int, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> [String] {
        try await transaction.query(
            #"""
            WITH original AS (
                SELECT oid, relname AS name, relname || '_partitioned' AS twin,
                    COALESCE(' WITH (' || array_to_string(reloptions, ', ') || ')', '') AS options, relacl
                FROM pg_class WHERE oid = \#(table)::regclass
            ), members AS (
                SELECT string_agg(quote_ident(attname), ', ') FILTER (WHERE is_key) AS key,
                    string_agg('OLD.' || quote_ident(attname), ', ') FILTER (WHERE is_key) AS old_key,
                    string_agg('NEW.' || quote_ident(attname), ', ') FILTER (WHERE is_key) AS new_key,
                    string_agg(format('%1$I = excluded.%1$I', attname), ', ') AS assignments
                FROM original
                JOIN pg_attribute ON attrelid = original.oid AND attnum > 0 AND NOT attisdropped
                JOIN pg_index ON indrelid = original.oid AND indisprimary,
                LATERAL (SELECT attnum = ANY (indkey) AS is_key) AS membership
            )
            SELECT statement FROM original, members, LATERAL (
                SELECT 1 AS place, format(
                    'CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE) '
                    || 'PARTITION BY HASH (bucket)', twin, name) AS statement
                UNION ALL
                SELECT 2, format(
                    'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s)%s',
                    name || '_p' || number, twin, \#(partitions), number, options)
                FROM generate_series(0, \#(partitions) - 1) AS number
                UNION ALL
                SELECT 3, format(
                    'ALTER TABLE %I ADD CONSTRAINT %I %s', twin, conname || '_partitioned',
                    CASE contype
                        WHEN 'f' THEN replace(
                            pg_get_constraintdef(pg_constraint.oid), 'REFERENCES ' || confrelid::regclass::text || '(',
                            'REFERENCES ' || quote_ident(confrelid::regclass::text || '_partitioned') || '(')
                        ELSE pg_get_constraintdef(pg_constraint.oid)
                    END)
                FROM pg_constraint WHERE conrelid = original.oid AND contype IN ('p', 'u', 'f')
                UNION ALL
                SELECT 4, regexp_replace(
                    pg_get_indexdef(indexrelid), '^CREATE (UNIQUE )?INDEX \S+ ON \S+',
                    format('CREATE \1INDEX %I ON %I', relname || '_partitioned', twin))
                FROM pg_index JOIN pg_class AS named ON named.oid = indexrelid
                WHERE indrelid = original.oid
                    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'))
                UNION ALL
                SELECT 5, format('GRANT %s ON %I TO %s', privilege_type, twin,
                    CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
                FROM aclexplode(relacl)
                UNION ALL
                SELECT 6, format($statement$
                    CREATE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql AS $trigger$
                    BEGIN
                        IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND (%4$s) IS DISTINCT FROM (%5$s) THEN
                            DELETE FROM %2$I WHERE (%3$s) = (%4$s);
                        END IF;
                        IF TG_OP <> 'DELETE' THEN
                            INSERT INTO %2$I SELECT NEW.* ON CONFLICT (%3$s) DO UPDATE SET %6$s;
                        END IF;
                        RETURN NULL;
                    END
                    $trigger$
                    $statement$, name || '_to_partitions', twin, key, old_key, new_key, assignments)
                UNION ALL
                SELECT 7, format(
                    'CREATE TRIGGER %I AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION %1$I()',
                    name || '_to_partitions', name)
            ) AS statements ORDER BY place
            """#
        ).decode(String.self)
    }

    /// The statements that put the twins in place of the tables, also in views.
    private static func replacement(
        of tables: [String], on transaction: PostgresTransaction
    ) async throws(PostgresError) -> [String] {
        try await transaction.query(
            """
            SELECT statement FROM (
                SELECT 1, 1, 'LOCK TABLE ' || string_agg(quote_ident(name), ', ' ORDER BY place)
                    || ' IN ACCESS EXCLUSIVE MODE'
                FROM unnest(\(tables)) WITH ORDINALITY AS listed (name, place)
                UNION ALL
                SELECT 2, place, statement FROM unnest(\(tables)) AS name, LATERAL (
                    SELECT 1 AS place, format('ALTER TABLE %I RENAME TO %I', name, name || '_former') AS statement
                    UNION ALL
                    SELECT 2, format('ALTER TABLE %I RENAME TO %I', name || '_partitioned', name)
                ) AS statements
                UNION ALL
                SELECT DISTINCT 3, 1, format(
                    'CREATE OR REPLACE VIEW %s AS %s', ev_class::regclass, pg_get_viewdef(ev_class))
                FROM unnest(\(tables)) AS name
                JOIN pg_depend ON refobjid = name::regclass AND classid = 'pg_rewrite'::regclass
                JOIN pg_rewrite ON pg_rewrite.oid = objid
                UNION ALL
                SELECT 4, 1, 'DROP TABLE partition_progress, ' || string_agg(quote_ident(name || '_former'), ', ')
                FROM unnest(\(tables)) AS name
                UNION ALL
                SELECT 5, place, statement FROM unnest(\(tables)) AS name, LATERAL (
                    SELECT 1 AS place, format('DROP FUNCTION %I()', name || '_to_partitions') AS statement
                    UNION ALL
                    SELECT 3, format(
                        'ALTER TABLE %I RENAME CONSTRAINT %I TO %I', name, conname,
                        regexp_replace(conname, '_partitioned$', ''))
                    FROM pg_constraint
                    WHERE conrelid = (name || '_partitioned')::regclass AND conname LIKE '%\\_partitioned'
                    UNION ALL
                    SELECT 4, format('ALTER INDEX %I RENAME TO %I', relname, regexp_replace(relname, '_partitioned$', ''))
                    FROM pg_index JOIN pg_class AS named ON named.oid = indexrelid
                    WHERE indrelid = (name || '_partitioned')::regclass
                        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'))
                ) AS statements
            ) AS steps (step, place, statement) ORDER BY step, place
            """
        ).decode(String.self)
    }
}
