import Contracts
import Foundation
import Postgres
import ServiceKitPostgres
import TestKit
import Testing

@testable import TokensService

/// Sessions on three servers, behind PL/Proxy as a stand-in for a distributed engine: it runs each operation's function
/// on the server that has the bucket.
@Suite struct DistributedTests {
    /// One of the servers stops and its standby takes over while clients refresh, sign in and sign out.
    @Test func clientsGoOnWhenOneServerFailsOver() async throws {
        try await TokensFixture.with { tokens in
            try await withDistribution { first, second, third, coordinator in
                try await withPostgresStandby(of: second) { standby in
                    let pool = PostgresPool(
                        configuration: try PostgresConfiguration(url: coordinator.url), pool: .patient)
                    defer { pool.close() }
                    let side = ServiceSide(pool: pool)
                    let load = try await FailoverLoad(tokens, from: side)
                    try await load.run {
                        try await load.everyClientRefreshesAgain()
                        try await standby.catchUp(with: second)
                        await second.stop()
                        try await standby.promote()
                        try await coordinator.replace(second, by: standby)
                        try await load.everyClientRefreshesAgain()
                    }
                    #expect(load.signedOut == [] && load.forks == [])
                    try await load.readFeed()
                    #expect(!load.revoked.isEmpty && load.revoked.isSubset(of: load.seen))
                    try await checkBuckets(of: [first, standby, third])
                }
            }
        }
    }

    /// Each server has the sessions of its buckets, and no stamped entry is left.
    private func checkBuckets(of servers: [PostgresServer]) async throws {
        for (place, server) in servers.enumerated() {
            let connection = try await PostgresConnection.patient(server.url())
            let rows = try await connection.query(
                """
                SELECT count(*), count(*) FILTER (WHERE bucket % 4 % 3 <> \(place)), (
                    SELECT count(*) FROM pending_revocations WHERE bucket % 4 % 3 <> \(place)
                ) FROM sessions
                """)
            await connection.close()
            let (sessions, strange, strangePending) = try rows[0].decode((Int, Int, Int).self)
            #expect(sessions > 0 && strange == 0 && strangePending == 0, "server \(place)")
        }
    }
}

/// The database to which the service connects. It keeps the log of the feed, and no session.
private struct Coordinator {
    let url: String
    private let connection: PostgresConnection

    private static func address(_ server: PostgresServer) -> String {
        "host=127.0.0.1 port=\(server.port) dbname=postgres connect_timeout=5"
    }

    /// - Parameter servers: three; PL/Proxy wants a power of two, so that the first one has two of four parts.
    static func make(on url: String, of servers: [PostgresServer]) async throws -> Coordinator {
        let connection = try await PostgresConnection.patient(url)
        try await PostgresMigrator(migrations: Migrations.all, logger: .quiet).up(on: connection)
        let parts = (servers + servers.prefix(1)).enumerated().map { "p\($0) '\(address($1))'" }
        try await connection.execute(
            script: """
                CREATE EXTENSION plproxy;
                CREATE SERVER tokens FOREIGN DATA WRAPPER plproxy OPTIONS (\(parts.joined(separator: ", ")));
                CREATE USER MAPPING FOR CURRENT_USER SERVER tokens
                    OPTIONS (user 'postgres', password '\(PostgresServer.password)');
                DROP TABLE sessions, users, pending_revocations, security_events;
                """)
        let proxies = try await connection.query(
            """
            SELECT format('DROP FUNCTION %I; ', proname) || format(
                'CREATE FUNCTION %I(%s) RETURNS %s LANGUAGE plproxy AS $$ CLUSTER ''tokens''; RUN ON bucket; $$',
                proname, pg_get_function_arguments(oid), pg_get_function_result(oid))
            FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proargnames[1] = 'bucket'
            """
        ).decode(String.self)
        #expect(proxies.count == 12)
        for proxy in proxies { try await connection.execute(script: proxy) }
        try await connection.execute(script: pendingEntry + stamping)
        return Coordinator(url: url, connection: connection)
    }

    func replace(_ old: PostgresServer, by new: PostgresServer) async throws {
        let parts = try await connection.query(
            """
            SELECT split_part(option, '=', 1) FROM pg_foreign_server, unnest(srvoptions) AS option
            WHERE srvname = 'tokens' AND option LIKE \("%port=\(old.port) %")
            """
        ).decode(String.self)
        for part in parts {
            try await connection.execute(
                script: "ALTER SERVER tokens OPTIONS (SET \(part) '\(Self.address(new))')")
        }
    }

    func close() async { await connection.close() }

    static let pendingEntry = """
        CREATE TYPE pending_entry AS (
            entry_id uuid, session_id uuid, user_id uuid, revoked_at timestamptz, access_expires_at timestamptz,
            reason text);
        """

    /// The functions of each server that the coordinator's stamper needs.
    static let pending =
        pendingEntry + """
            CREATE FUNCTION pending_entries(reach double precision, most integer) RETURNS SETOF pending_entry
            LANGUAGE sql AS $$
                SELECT entry_id, session_id, user_id, revoked_at, access_expires_at, reason FROM pending_revocations
                WHERE revoked_at >= COALESCE(clock_timestamp() - reach * interval '1 second', '-infinity')
                ORDER BY revoked_at LIMIT most
            $$;
            CREATE FUNCTION remove_entries(ids uuid[]) RETURNS SETOF bigint LANGUAGE sql AS $$
                WITH removed AS (DELETE FROM pending_revocations WHERE entry_id = ANY (ids) RETURNING entry_id)
                SELECT count(*) FROM removed
            $$;
            """

    /// An entry leaves its server only when the log that contains it is committed.
    private static let stamping = """
        CREATE FUNCTION pending_entries(reach double precision, most integer) RETURNS SETOF pending_entry
        LANGUAGE plproxy AS $$ CLUSTER 'tokens'; RUN ON ALL; $$;
        CREATE FUNCTION remove_entries(ids uuid[]) RETURNS SETOF bigint
        LANGUAGE plproxy AS $$ CLUSTER 'tokens'; RUN ON ALL; $$;
        CREATE OR REPLACE FUNCTION stamp_revocations(
            reach double precision, most integer,
            OUT stamped bigint, OUT head bigint, OUT tag bigint, OUT cost double precision)
        LANGUAGE plpgsql AS $$
        BEGIN
            cost := 0;
            PERFORM FROM revocation_head FOR UPDATE;
            PERFORM remove_entries(ARRAY(
                SELECT entry_id FROM pending_entries(reach, most) AS next
                WHERE EXISTS (SELECT FROM revocation_log AS log WHERE log.entry_id = next.entry_id)));
            WITH added AS (
                INSERT INTO revocation_log (
                    seq, tag, entry_id, session_id, user_id, revoked_at, access_expires_at, reason)
                SELECT COALESCE((SELECT max(seq) FROM revocation_log), 0) + row_number() OVER (),
                    ('x' || encode(substr(sha256(uuid_send(gen_random_uuid())), 1, 8), 'hex'))::bit(64)::bigint,
                    entry_id, session_id, user_id, revoked_at, access_expires_at, reason
                FROM (SELECT DISTINCT ON (entry_id) * FROM pending_entries(reach, most)) AS next
                WHERE NOT EXISTS (SELECT FROM revocation_log AS log WHERE log.entry_id = next.entry_id)
                RETURNING seq
            )
            SELECT count(*) INTO stamped FROM added;
            SELECT log.seq, log.tag INTO head, tag FROM revocation_log AS log ORDER BY log.seq DESC LIMIT 1;
        END
        $$;
        """
}

private func withDistribution(
    _ body: (PostgresServer, PostgresServer, PostgresServer, Coordinator) async throws -> Void
) async throws {
    try await withPostgresServer { first in
        try await withPostgresServer { second in
            try await withPostgresServer { third in
                for server in [first, second, third] {
                    let connection = try await PostgresConnection.patient(server.url())
                    try await PostgresMigrator(migrations: Migrations.all, logger: .quiet).up(on: connection)
                    try await connection.execute(script: Coordinator.pending)
                    await connection.close()
                }
                try await withDatabase { database in
                    let coordinator = try await Coordinator.make(on: database.url, of: [first, second, third])
                    try await body(first, second, third, coordinator)
                    await coordinator.close()
                }
            }
        }
    }
}
