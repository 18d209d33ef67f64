import Foundation
import GatehouseServiceContracts
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
            try await withPLProxyCluster { connection in
                try await PostgresMigrator(migrations: Migrations.all, logger: .quiet).up(on: connection)
            } _: { cluster in
                try await distribute(cluster)
                let second = cluster.servers[1]
                try await withPostgresStandby(of: second) { standby in
                    let pool = PostgresPool(configuration: try PostgresConfiguration(url: cluster.url), pool: .patient)
                    defer { pool.close() }
                    let side = ServiceSide(pool: pool)
                    let load = try await FailoverLoad(tokens, from: side)
                    try await load.run {
                        try await load.everyClientRefreshesAgain()
                        try await standby.catchUp(with: second)
                        await second.stop()
                        try await standby.promote()
                        try await cluster.replace(second, by: standby)
                        try await load.everyClientRefreshesAgain()
                    }
                    #expect(load.signedOut == [] && load.forks == [])
                    try await useEachFunction(of: side.store, tokens)
                    try await load.readFeed()
                    #expect(!load.revoked.isEmpty && load.revoked.isSubset(of: load.seen))
                    try await checkBuckets(of: [cluster.servers[0], standby, cluster.servers[2]])
                }
            }
        }
    }

    /// The coordinator keeps the log of the feed, and no session.
    private func distribute(_ cluster: PLProxyCluster) async throws {
        for server in cluster.servers {
            let connection = try await PostgresConnection.patient(server.url())
            try await connection.execute(script: Self.pending)
            await connection.close()
        }
        try await cluster.coordinator.execute(
            script: "DROP TABLE sessions, users, pending_revocations, security_events")
        #expect(try await cluster.distribute(by: "bucket") == 12)
        try await cluster.coordinator.execute(script: Self.pendingEntry + Self.sequencing)
    }

    /// What the load does not do: each runs on the server that has the user's bucket.
    private func useEachFunction(of store: SessionStore, _ tokens: TokensFixture) async throws {
        for part in 0..<4 {
            var user = User.sample(id: FailoverLoad.user(inPart: part))
            let kept = try await tokens.signIn(user, in: store).sessionID
            let other = try await tokens.signIn(user, in: store).sessionID
            #expect(Set(try await store.list(of: user.id, current: kept).map(\.id)) == [kept, other])
            #expect(try await store.renewAuthentication(of: kept, userID: user.id, by: [.password]))
            #expect(try await store.countLateReplay(of: kept, generation: 0))
            user.role = "staff"
            try await store.update(UserSnapshot(user: user, version: 2))
            #expect(try await store.read(kept)?.grant.user.role == "staff")
            try await store.signOut(user.id, except: kept)
            #expect(try await store.live([kept, other]).map(\.id) == [kept])
            try await store.revokeAll(of: user.id, reason: .passwordChanged)
            #expect(try await store.read(kept) == nil)
        }
    }

    /// Each server has the sessions of its buckets, and no sequenced entry is left.
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

    private static let pendingEntry = """
        CREATE TYPE pending_entry AS (
            entry_id uuid, session_id uuid, user_id uuid, revoked_at timestamptz, access_expires_at timestamptz,
            reason text);
        """

    /// The functions of each server that the coordinator's sequencer needs.
    private static let pending =
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
    private static let sequencing = """
        CREATE FUNCTION pending_entries(reach double precision, most integer) RETURNS SETOF pending_entry
        LANGUAGE plproxy AS $$ CLUSTER 'cluster'; RUN ON ALL; $$;
        CREATE FUNCTION remove_entries(ids uuid[]) RETURNS SETOF bigint
        LANGUAGE plproxy AS $$ CLUSTER 'cluster'; RUN ON ALL; $$;
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
