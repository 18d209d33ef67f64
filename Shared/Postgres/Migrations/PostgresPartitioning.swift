import Logging

/// Partitions tables by hash of their column `bucket`, also while other sessions use them.
///
/// A table is partitioned if its primary key contains `bucket`. It gets a partitioned twin, and a trigger repeats every
/// change of the table in the twin. Then its rows are copied, some buckets in a transaction. At the end, one short
/// transaction puts the twins in place of the tables. A run that was interrupted is resumed by the next one, and no
/// migration is applied or undone until then.
extension PostgresMigrator {
    /// The numbers of partitions that a table may have. A statement locks all of them, so more would cost every
    /// request.
    public static let partitionCounts = 2...64
    /// The buckets are 0 to 4095.
    private static let buckets: Int32 = 4096

    /// Partitions every table that has a bucket and is not partitioned.
    ///
    /// - Parameters:
    ///   - count: the partitions of each table, one of ``partitionCounts``.
    ///   - requiringEmpty: whether to throw if one of the tables has rows.
    /// - Returns: The tables.
    /// - Throws: ``PostgresError``: code `migration` for tables with rows, for a table that a copy cannot replace, or
    ///   when an earlier run with another count was interrupted.
    @discardableResult
    public func partition(
        into count: Int, on connection: PostgresConnection, requiringEmpty: Bool = false
    ) async throws -> [String] {
        try await locked(connection) {
            let tables = try await unpartitionedTables(on: connection)
            guard !tables.isEmpty else { return [] }
            try await check(tables, on: connection)
            if requiringEmpty {
                for table in tables {
                    let rows = try await connection.query(
                        "SELECT FROM \(unescaped: table) LIMIT 1", deadline: .now + timeout)
                    guard rows.isEmpty else {
                        throw PostgresError(.migration, "the table \(table) has rows: run `migrate partition`")
                    }
                }
            }
            try await createTwins(of: tables, partitions: count, on: connection)
            for table in tables { try await copy(table, on: connection) }
            try await retryingLocks(of: tables, on: connection) { transaction in
                for statement in try await Self.replacement(of: tables, on: transaction) {
                    try await transaction.query(PostgresQuery(unsafe: statement))
                }
            }
            logger.notice("tables partitioned", metadata: ["partitions": "\(count)"])
            return tables
        }
    }

    /// Removes the unfinished copies that an interrupted ``partition(into:on:requiringEmpty:)`` has left. The tables
    /// stay as they are.
    ///
    /// - Throws: ``PostgresError``.
    public func abandonPartitioning(on connection: PostgresConnection) async throws {
        try await locked(connection) {
            guard try await isPartitioning(on: connection) else { return }
            try await retryingLocks(of: ["partition_progress"], on: connection) { transaction in
                let tables = try await transaction.query("SELECT table_name FROM partition_progress").decode(
                    String.self)
                for table in tables {
                    try await transaction.query(
                        "DROP FUNCTION IF EXISTS \(unescaped: table)_to_partitions() CASCADE")
                }
                let twins = tables.map { $0 + "_partitioned" } + ["partition_progress"]
                try await transaction.query("DROP TABLE IF EXISTS \(unescaped: twins.joined(separator: ", "))")
            }
        }
    }

    /// Whether a run was interrupted.
    func isPartitioning(on connection: PostgresConnection) async throws(PostgresError) -> Bool {
        try await connection.query(
            "SELECT to_regclass('partition_progress') IS NOT NULL", deadline: .now + timeout)[0].decode(Bool.self)
    }

    /// The tables that have a bucket and are not partitioned. A table follows those to which it has foreign keys, since
    /// these have none.
    private func unpartitionedTables(on connection: PostgresConnection) async throws(PostgresError) -> [String] {
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

    /// - Throws: if a copy would lack something that a table has.
    private func check(_ tables: [String], on connection: PostgresConnection) async throws {
        let unfit = try await connection.query(
            """
            SELECT relname::text FROM pg_class AS class
            WHERE relname = ANY (\(tables)) AND relnamespace = current_schema()::regnamespace AND (
                pg_get_userbyid(relowner) <> current_user OR relrowsecurity
                OR EXISTS (
                    SELECT FROM pg_trigger
                    WHERE tgrelid = class.oid AND NOT tgisinternal AND tgname NOT LIKE '%\\_to\\_partitions%')
                OR EXISTS (
                    SELECT FROM pg_attribute
                    WHERE attrelid = class.oid AND (attidentity <> '' OR attgenerated <> '' OR attacl IS NOT NULL)))
            """, deadline: .now + timeout
        ).decode(String.self)
        guard unfit.isEmpty else {
            throw PostgresError(
                .migration,
                "a copy of \(unfit.joined(separator: ", ")) would lack the owner, a trigger, a policy, a generated column "
                    + "or the rights of a column")
        }
    }

    /// Creates the empty twins, all in one transaction and before any trigger, because a foreign key locks both tables.
    private func createTwins(of tables: [String], partitions: Int, on connection: PostgresConnection) async throws {
        if try await isPartitioning(on: connection) {
            let isSame = try await connection.query(
                """
                SELECT array_agg(table_name ORDER BY table_name) = (
                        SELECT array_agg(name ORDER BY name) FROM unnest(\(tables)) AS name)
                    AND bool_and(table_oid = to_regclass(table_name) AND partitions = \(partitions))
                FROM partition_progress
                """, deadline: .now + timeout)[0].decode(Bool?.self)
            guard isSame == true else {
                throw PostgresError(
                    .migration,
                    "an interrupted partitioning had other tables or another count: run `migrate partition --abandon`")
            }
            return
        }
        try await retryingLocks(of: tables, on: connection) { transaction in
            try await connection.execute(
                script: """
                    CREATE TABLE partition_progress (
                        table_name text PRIMARY KEY,
                        table_oid oid NOT NULL,
                        partitions integer NOT NULL,
                        -- -1 before the trigger exists.
                        next_bucket integer NOT NULL
                    )
                    """, deadline: .now + timeout)
            try await transaction.query(
                """
                INSERT INTO partition_progress (table_name, table_oid, partitions, next_bucket)
                SELECT name, name::regclass, \(Int32(partitions)), -1 FROM unnest(\(tables)) AS name
                """)
            for table in tables {
                for statement in try await Self.twin(of: table, tables, partitions: partitions, on: transaction) {
                    try await transaction.query(PostgresQuery(unsafe: statement))
                }
            }
        }
    }

    /// Copies the table's rows into its twin.
    private func copy(_ table: String, on connection: PostgresConnection) async throws {
        var bucket = try await connection.query(
            "SELECT next_bucket FROM partition_progress WHERE table_name = \(table)", deadline: .now + timeout
        )[0].decode(Int32.self)
        let mirror = try await connection.query(Self.mirror(of: table), deadline: .now + timeout)[0]
        let columns: String = try mirror.decode("columns")
        if bucket < 0 {
            try await retryingLocks(of: [table], on: connection) { transaction in
                try await transaction.query(PostgresQuery(unsafe: try mirror.decode("function", as: String.self)))
                try await transaction.query(PostgresQuery(unsafe: try mirror.decode("changes", as: String.self)))
                try await transaction.query(PostgresQuery(unsafe: try mirror.decode("truncation", as: String.self)))
                try await transaction.query(
                    "UPDATE partition_progress SET next_bucket = 0 WHERE table_name = \(table)")
            }
            bucket = 0
        }
        // As many buckets in a transaction as take about a tenth of a second.
        var width: Int32 = 16
        while bucket < Self.buckets {
            let (start, end) = (ContinuousClock.now, min(bucket + width, Self.buckets))
            let range = bucket..<end
            // The wait is less than PostgreSQL's `deadlock_timeout`, so that the copy yields, not a request.
            try await retryingLocks(of: [table], for: .milliseconds(200), on: connection) { transaction in
                // The lock keeps a row from being deleted before the copy is committed. The trigger of the deletion is
                // a statement that begins later, so it sees the copy and deletes it. A row that has changed meanwhile
                // is in the twin already, or will replace this copy.
                try await transaction.query(
                    """
                    INSERT INTO \(unescaped: table)_partitioned (\(unescaped: columns))
                    SELECT \(unescaped: columns) FROM (
                        SELECT \(unescaped: columns) FROM \(unescaped: table)
                        WHERE bucket >= \(range.lowerBound) AND bucket < \(range.upperBound) FOR KEY SHARE
                    ) AS original
                    ON CONFLICT DO NOTHING
                    """)
                try await transaction.query(
                    "UPDATE partition_progress SET next_bucket = \(range.upperBound) WHERE table_name = \(table)")
            }
            width = .now - start < .milliseconds(100) ? min(width * 2, Self.buckets) : max(width / 2, 1)
            bucket = end
            logger.info("rows copied", metadata: ["table": "\(table)", "buckets": "\(end) of \(Self.buckets)"])
        }
        // PostgreSQL never analyzes a partitioned table by itself.
        try await connection.execute(script: "ANALYZE \(table)_partitioned", deadline: .now + buildTimeout)
    }

    private func retryingLocks(
        of tables: [String], for wait: Duration? = nil, on connection: PostgresConnection,
        _ body: (PostgresTransaction) async throws -> Void
    ) async throws {
        try await retryingLocks(
            "partitioning waits for a lock", ["tables": "\(tables.joined(separator: ", "))"], for: wait,
            until: .now + buildTimeout, on: connection, body)
    }

    /// The statements that create a table's partitioned twin. A foreign key to one of `tables` refers to its twin.
    private static func twin(
        of table: String, _ tables: [String], partitions: Int, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> [String] {
        try await transaction.query(
            #"""
            WITH original AS (
                SELECT oid, relname AS name, relname || '_partitioned' AS twin,
                    COALESCE(' WITH (' || array_to_string(reloptions, ', ') || ')', '') AS options, relacl
                FROM pg_class WHERE oid = \#(table)::regclass
            )
            SELECT statement FROM original, LATERAL (
                SELECT 1 AS place, format(
                    'CREATE TABLE %I (LIKE %I INCLUDING COMMENTS INCLUDING DEFAULTS INCLUDING CONSTRAINTS '
                    || 'INCLUDING STORAGE) PARTITION BY HASH (bucket)', twin, name) AS statement
                UNION ALL
                SELECT 2, format(
                    'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s)%s',
                    name || '_p' || number, twin, \#(partitions), number, options)
                FROM generate_series(0, \#(partitions) - 1) AS number
                UNION ALL
                SELECT 3, format(
                    'ALTER TABLE %I ADD CONSTRAINT %I %s', twin, conname || '_partitioned',
                    CASE
                        WHEN contype = 'f' AND confrelid::regclass::text = ANY (\#(tables)) THEN replace(
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
                SELECT 6, format('COMMENT ON TABLE %I IS %L', twin, obj_description(oid, 'pg_class'))
            ) AS statements ORDER BY place
            """#
        ).decode(String.self)
    }

    /// The statements that repeat every change of a table in its twin: `function`, and the triggers `changes` and
    /// `truncation`; and the table's `columns`.
    private static func mirror(of table: String) -> PostgresQuery {
        #"""
        SELECT columns,
            format($statement$
                CREATE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql AS $trigger$
                BEGIN
                    IF TG_OP = 'TRUNCATE' THEN
                        RAISE EXCEPTION 'the table is being partitioned';
                    END IF;
                    IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND (%4$s) IS DISTINCT FROM (%5$s) THEN
                        DELETE FROM %2$I WHERE (%3$s) = (%4$s);
                    END IF;
                    IF TG_OP <> 'DELETE' THEN
                        INSERT INTO %2$I (%6$s) VALUES (%7$s) ON CONFLICT (%3$s) DO %8$s;
                    END IF;
                    RETURN NULL;
                END
                $trigger$
                $statement$, trigger, name || '_partitioned', key, old_key, new_key, columns, new_columns,
                -- Without the key, whose writing would conflict with foreign keys' locks.
                COALESCE('UPDATE SET ' || assignments, 'NOTHING')) AS function,
            format(
                'CREATE TRIGGER %1$I AFTER INSERT OR UPDATE OR DELETE ON %2$I FOR EACH ROW EXECUTE FUNCTION %1$I()',
                trigger, name) AS changes,
            format(
                'CREATE TRIGGER %I BEFORE TRUNCATE ON %I EXECUTE FUNCTION %I()', trigger || '_truncation', name, trigger
            ) AS truncation
        FROM (
            SELECT relname AS name, relname || '_to_partitions' AS trigger,
                string_agg(quote_ident(attname), ', ') FILTER (WHERE is_key) AS key,
                string_agg('OLD.' || quote_ident(attname), ', ') FILTER (WHERE is_key) AS old_key,
                string_agg('NEW.' || quote_ident(attname), ', ') FILTER (WHERE is_key) AS new_key,
                string_agg(quote_ident(attname), ', ') AS columns,
                string_agg('NEW.' || quote_ident(attname), ', ') AS new_columns,
                string_agg(format('%1$I = excluded.%1$I', attname), ', ') FILTER (WHERE NOT is_key) AS assignments
            FROM pg_class AS class
            JOIN pg_attribute ON attrelid = class.oid AND attnum > 0 AND NOT attisdropped
            JOIN pg_index ON indrelid = class.oid AND indisprimary,
            LATERAL (SELECT attnum = ANY (indkey) AS is_key) AS membership
            WHERE class.oid = \#(table)::regclass GROUP BY relname
        ) AS original
        """#
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
                    SELECT 2, format(
                        'ALTER TABLE %I RENAME CONSTRAINT %I TO %I', name, conname,
                        regexp_replace(conname, '_partitioned$', ''))
                    FROM pg_constraint
                    WHERE conrelid = (name || '_partitioned')::regclass AND conname LIKE '%\\_partitioned'
                    UNION ALL
                    SELECT 3, format('ALTER INDEX %I RENAME TO %I', relname, regexp_replace(relname, '_partitioned$', ''))
                    FROM pg_index JOIN pg_class AS named ON named.oid = indexrelid
                    WHERE indrelid = (name || '_partitioned')::regclass
                        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'))
                ) AS statements
            ) AS steps (step, place, statement) ORDER BY step, place
            """
        ).decode(String.self)
    }
}
