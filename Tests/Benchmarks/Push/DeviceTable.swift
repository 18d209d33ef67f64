import Crypto
import Foundation
import GatehouseServiceContracts
import Postgres
import Sealing

/// Registrations that a benchmark puts into devices' own tables, numbered from 1, one of each user. All may be sent to:
/// their sessions are live, and Apple has accepted their tokens before.
struct DeviceTable {
    /// Rows of a statement.
    private static let batch = 20_000

    private let connection: PostgresConnection
    private let sealer: Sealer

    static func open(_ system: RunningSystem) async throws -> DeviceTable {
        var configuration = try PostgresConfiguration(url: system.value("DEVICES_DATABASE_URL"))
        configuration.statementTimeout = .seconds(3600)
        return DeviceTable(
            connection: try await PostgresConnection.connect(configuration),
            sealer: Sealer(
                keys: try KeyRing(system.keyFile("push-tokens.keys")), purpose: "gatehouse devices push token")
        )
    }

    func close() async { await connection.close() }

    static func user(_ number: Int) -> UUID {
        Insecure.MD5.hash(data: Data("user \(number)".utf8)).withUnsafeBytes {
            UUID(uuid: $0.loadUnaligned(as: uuid_t.self))
        }
    }

    /// In hexadecimal digits.
    static func token(_ number: Int) -> String { String(format: "%064x", number) }

    /// Adds registrations until there are `count`; `present` are there already. Without indexes meanwhile, which are
    /// faster made at the end than kept.
    func fill(to count: Int, present: Int = 0) async throws {
        try await execute(
            """
            BEGIN;
            SET LOCAL synchronous_commit = off;
            SET LOCAL maintenance_work_mem = '1GB';
            ALTER TABLE devices DROP CONSTRAINT devices_pkey;
            DROP INDEX devices_token, devices_session;
            ALTER TABLE push_token_owners DROP CONSTRAINT push_token_owners_pkey;
            DROP INDEX push_token_owners_user
            """)
        var first = present + 1
        var sealed = seal(from: first, to: count)
        while first <= count {
            let tokens = try await sealed.value
            let next = first + tokens.count
            // Meanwhile the next ones are sealed.
            sealed = seal(from: next, to: count)
            try await add(tokens, from: first)
            first = next
        }
        try await execute(
            """
            INSERT INTO push_token_owners (token_hash, user_id, epoch)
            SELECT sha256(int8send(number)), md5('user ' || number)::uuid, 1
            FROM generate_series(\(present + 1)::bigint, \(count)::bigint) AS number;
            ALTER TABLE devices ADD CONSTRAINT devices_pkey PRIMARY KEY (bucket, id);
            CREATE UNIQUE INDEX devices_token ON devices (bucket, user_id, token_hash);
            CREATE INDEX devices_session ON devices (bucket, session_id);
            ALTER TABLE push_token_owners ADD CONSTRAINT push_token_owners_pkey PRIMARY KEY (token_hash);
            CREATE INDEX push_token_owners_user ON push_token_owners (user_id);
            COMMIT
            """)
        for table in ["devices", "push_token_owners"] { try await execute("VACUUM (ANALYZE) \(table)") }
    }

    private func add(_ tokens: [Data], from first: Int) async throws {
        let length = tokens.first?.count ?? 0
        try await connection.query(
            """
            INSERT INTO devices
                (bucket, id, user_id, session_id, token_hash, token_epoch, sealed_token, environment, bundle_id, kind,
                 locale, time_zone, app_version, os_version, model, live_until, apns_accepted_at)
            SELECT bucket_of(user_id), md5('device ' || number)::uuid, user_id, md5('session ' || number)::uuid,
                sha256(int8send(number)), 1,
                substr(\(Data(tokens.joined())), (number - \(Int64(first)))::integer * \(Int32(length)) + 1,
                    \(Int32(length))),
                'sandbox', \(PushBenchmark.bundleID), 'alert', 'en-GB', 'Europe/London', '2.10', '26.1', 'iPhone17,1',
                now() + interval '30 days', now()
            FROM generate_series(\(Int64(first)), \(Int64(first + tokens.count - 1))) AS number,
                LATERAL (SELECT md5('user ' || number)::uuid AS user_id) AS named
            """, deadline: .now + .seconds(600))
    }

    /// Seals a batch of tokens. A sealed token opens for the hash in its row, which here is that of the number.
    private func seal(from first: Int, to last: Int) -> Task<[Data], any Error> {
        Task { [sealer] in
            try (first..<max(first, min(first + Self.batch, last + 1))).map { number in
                let bytes = withUnsafeBytes(of: Int64(number).bigEndian) { Data($0) }
                let hash = Data(SHA256.hash(data: bytes))
                return try sealer.seal(Data(count: 24) + bytes, context: hash.base64EncodedString())
            }
        }
    }

    private func execute(_ script: String) async throws {
        try await connection.execute(script: script, deadline: .now + .seconds(3600))
    }
}
