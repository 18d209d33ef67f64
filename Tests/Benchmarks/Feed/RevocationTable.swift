import Postgres

/// Revoked sessions that a benchmark puts into tokens' feed.
struct RevocationTable {
    private let connection: PostgresConnection

    /// - Parameter url: of tokens' database.
    static func open(_ url: String) async throws -> RevocationTable {
        var configuration = try PostgresConfiguration(url: url)
        configuration.statementTimeout = .seconds(60)
        return RevocationTable(connection: try await PostgresConnection.connect(configuration))
    }

    /// Changes the feed's tables, or their partitions.
    private static func eachTable(_ change: String) -> String {
        """
        DO $$
        DECLARE
            name regclass;
        BEGIN
            FOR name IN
                SELECT COALESCE(inhrelid, oid) FROM pg_class LEFT JOIN pg_inherits ON inhparent = oid
                WHERE oid IN ('revocation_log'::regclass, 'pending_revocations'::regclass)
            LOOP
                EXECUTE format('ALTER TABLE %s \(change)', name);
            END LOOP;
        END
        $$;
        """
    }

    /// Adds entries to the log, as if a sequencer had done so. Of `aliveEvery` entries, one has live access tokens.
    func addToLog(_ count: Int, aliveEvery: Int) async throws {
        try await connection.execute(
            script: """
                -- Its work would count as that of what is measured.
                \(Self.eachTable("SET (autovacuum_enabled = off)"))
                BEGIN;
                SELECT only_row FROM revocation_head FOR UPDATE;
                INSERT INTO revocation_log (
                    seq, tag, entry_id, session_id, user_id, revoked_at, access_expires_at, reason)
                SELECT last + number, number, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(),
                    now() + CASE WHEN number % \(aliveEvery) = 0 THEN 1 ELSE -1 END * interval '1 hour', 'logout'
                FROM generate_series(1, \(count)) AS number,
                    (SELECT COALESCE(max(seq), 0) AS last FROM revocation_log) AS log;
                COMMIT;
                -- As happens while a log grows to that size.
                ANALYZE revocation_log, pending_revocations
                """, deadline: .now + .seconds(60))
    }

    /// Adds entries, and waits until tokens has sequenced them.
    func revoke(_ count: Int) async throws {
        try await fill(count)
        while try await !connection.query("SELECT entry_id FROM pending_revocations LIMIT 1").isEmpty {
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    func fill(_ count: Int) async throws {
        try await connection.execute(
            script: """
                INSERT INTO pending_revocations (bucket, session_id, user_id, access_expires_at, reason)
                SELECT number % 4096, gen_random_uuid(), gen_random_uuid(), now() + interval '1 hour', 'signed_out'
                FROM generate_series(1, \(count)) AS number
                """, deadline: .now + .seconds(60))
    }

    func close() async { await connection.close() }

    func empty() async throws {
        try await connection.execute(
            script: """
                DELETE FROM revocation_log;
                \(Self.eachTable("RESET (autovacuum_enabled)"))
                """, deadline: .now + .seconds(60))
    }
}

extension ProxyYard.Gatehouse {
    /// Waits until the gateway has read so many from the feed.
    func awaitRevocations(_ count: Int) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            let metrics = try await Tool.run(
                "sh", "-c", "curl -fsS http://127.0.0.1:\(adminPort)/metrics | grep revoked_sessions || true"
            ).output
            if let value = metrics.firstMatch(of: /gatehouse_gateway_revoked_sessions ([0-9.]+)/)?.1,
                let known = Double(value), known >= Double(count)
            {
                return
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw BenchmarkError("the gateway did not read \(count) revocations within a minute")
    }
}
