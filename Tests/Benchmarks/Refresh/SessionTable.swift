import Foundation
import Postgres

/// Sessions that a benchmark puts into tokens' own tables, numbered from 1, four of each user.
struct SessionTable {
    let connection: PostgresConnection

    /// - Parameter url: of tokens' database.
    static func open(_ url: String) async throws -> SessionTable {
        var configuration = try PostgresConfiguration(url: url)
        configuration.statementTimeout = .seconds(3600)
        return SessionTable(connection: try await PostgresConnection.connect(configuration))
    }

    private static func user(of number: String) -> String { "md5('user ' || (\(number) - 1) / 4 + 1)::uuid" }

    /// A session's bucket in SQL. The function `bucket_of` takes 30 µs, a third of what is measured.
    static func bucket(of number: String) -> String {
        let digest = "sha256(uuid_send(\(user(of: number))))"
        return "(get_byte(\(digest), 0) << 4 | (get_byte(\(digest), 1) >> 4))::smallint"
    }

    /// A session's id in SQL. Digests, so that neighbours in number are none in the index.
    static func id(of number: String) -> String {
        "(lpad(to_hex(\(bucket(of: number))::integer), 3, '0') || substr(md5('session ' || \(number)), 4))::uuid"
    }

    /// The token that a session of generation 0 was made with, in SQL: tokens judges one under a key id that it does
    /// not know by its hash alone.
    private static let token = """
        '\\xff'::bytea || uuid_send(id) || int4send(0) || sha256(uuid_send(id)) || uuid_send(id)
        """

    /// Removes all sessions and users, also those that another benchmark has made.
    func empty() async throws {
        try await connection.execute(script: "TRUNCATE sessions, users", deadline: .now + .seconds(60))
    }

    /// Adds sessions until there are `count`; `present` are there already. Without indexes meanwhile, which are faster
    /// made at the end than kept.
    func fill(to count: Int, present: Int = 0) async throws {
        try await connection.execute(
            script: """
                BEGIN;
                SET LOCAL synchronous_commit = off;
                SET LOCAL maintenance_work_mem = '1GB';
                ALTER TABLE sessions DROP CONSTRAINT sessions_bucket_user_id_fkey, DROP CONSTRAINT sessions_pkey;
                DROP INDEX sessions_user_id;
                INSERT INTO users (bucket, id, version, role, store_ids, email, is_email_verified, profile)
                SELECT bucket_of(md5('user ' || number)::uuid), md5('user ' || number)::uuid, 1, 'customer', '{}',
                    number || '@example.com', false,
                    '{"authProviders":["password"],"createdAt":"2026-01-01T00:00:00Z","email":"' || number
                    || '@example.com","emailVerified":false,"id":"' || md5('user ' || number)::uuid
                    || '","role":"customer","storeIds":[]}'
                FROM generate_series(\(present / 4 + 1), \(count / 4)) AS number
                ON CONFLICT (bucket, id) DO NOTHING;
                INSERT INTO sessions (
                    bucket, id, user_id, credentials_version, current_hash, previous_hash, sealed_current, created_at,
                    rotated_at, expires_at, absolute_expires_at, access_expires_at, authenticated_at,
                    authentication_methods, expiry_day, device, ip_address)
                SELECT \(Self.bucket(of: "number")), id, \(Self.user(of: "number")), 1, sha256(\(Self.token)),
                    sha256(uuid_send(id)), decode(repeat('00', 98), 'hex'), now(), now(), now() + interval '30 days',
                    now() + interval '1 year', now() + interval '1 hour', now(), '{pwd}',
                    (now() + interval '30 days')::date,
                    '{"name":"iPhone","model":"iPhone17,1","osVersion":"26.1","appVersion":"1.0"}', '192.0.2.1'
                FROM generate_series(\(present + 1), \(count)) AS number,
                    LATERAL (SELECT \(Self.id(of: "number")) AS id) AS named;
                ALTER TABLE sessions ADD CONSTRAINT sessions_pkey PRIMARY KEY (bucket, id);
                CREATE INDEX sessions_user_id ON sessions (bucket, user_id);
                ALTER TABLE sessions ADD FOREIGN KEY (bucket, user_id) REFERENCES users (bucket, id);
                COMMIT;
                """, deadline: .now + .seconds(3600))
        for table in ["users", "sessions"] {
            try await connection.execute(script: "VACUUM (ANALYZE) \(table)", deadline: .now + .seconds(3600))
        }
    }

    /// Gives each of the first users so many sessions more.
    func crowd(users: Int, with count: Int) async throws {
        try await connection.execute(
            script: """
                INSERT INTO sessions (
                    bucket, id, user_id, credentials_version, current_hash, created_at, rotated_at, expires_at,
                    absolute_expires_at, access_expires_at, authenticated_at, authentication_methods, expiry_day)
                SELECT bucket, gen_random_uuid(), id, 1, sha256('crowd'), now(), now(), now() + interval '30 days',
                    now() + interval '1 year', now() + interval '1 hour', now(), '{pwd}',
                    (now() + interval '30 days')::date
                FROM generate_series(1, \(users)) AS number
                JOIN users ON bucket = bucket_of(md5('user ' || number)::uuid) AND id = md5('user ' || number)::uuid,
                    generate_series(1, \(count))
                """, deadline: .now + .seconds(60))
    }

    /// The current refresh tokens of sessions all over the table that have never been refreshed.
    func tokens(of sessions: Int, count: Int) async throws -> [String] {
        let numbers = (0..<count).map { _ in Int64.random(in: 1...Int64(sessions)) }
        let query: PostgresQuery = """
            SELECT \(unescaped: Self.token) FROM sessions
            JOIN (
                SELECT DISTINCT \(unescaped: Self.bucket(of: "number")) AS bucket,
                    \(unescaped: Self.id(of: "number")) AS id
                FROM unnest(\(numbers)) AS number
            ) AS wanted USING (bucket, id)
            WHERE generation = 0
            """
        return try await connection.query(query, deadline: .now + .seconds(600)).map { row in
            let bytes = Data(try row.decode([UInt8].self))
            let text = bytes.base64EncodedString()
            return "ghrt_" + text.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        }
    }

    struct Size: Sendable {
        var table: Int64
        var indexes: Int64
        var updates: Int64
        var heapOnlyUpdates: Int64
    }

    func size() async throws -> Size {
        let row = try await connection.query(
            """
            SELECT sum(pg_table_size(relid))::bigint, sum(pg_indexes_size(relid))::bigint, sum(n_tup_upd)::bigint,
                sum(n_tup_hot_upd)::bigint
            FROM pg_stat_user_tables WHERE relname LIKE 'sessions%'
            """)[0]
        let (table, indexes, updates, heapOnlyUpdates) = try row.decode((Int64, Int64, Int64, Int64).self)
        return Size(table: table, indexes: indexes, updates: updates, heapOnlyUpdates: heapOnlyUpdates)
    }
}
