import Foundation
import Postgres

extension AuditSealStore {
    static let columns = """
        number, \(microseconds("at")), \(microseconds("previous_at")), last_id, entries, previous, digest, key_id, tag
        """

    static func microseconds(_ column: String) -> String {
        "(extract(epoch FROM \(column)) * 1000000)::bigint"
    }

    /// - Returns: whether no other process has it. It is held until the transaction ends.
    static func lock(_ transaction: PostgresTransaction) async throws -> Bool {
        try await transaction.query("SELECT pg_try_advisory_xact_lock(\(lock))")[0].decode(Bool.self)
    }

    static func newest(on transaction: PostgresTransaction) async throws -> AuditSeal? {
        try await transaction.query(
            "SELECT \(unescaped: columns) FROM audit_seals ORDER BY number DESC LIMIT 1"
        ).first.map(AuditSeal.init(row:))
    }

    static func add(_ seal: AuditSeal, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            """
            INSERT INTO audit_seals (number, at, previous_at, last_id, entries, previous, digest, key_id, tag)
            VALUES (\(seal.number), timestamptz 'epoch' + \(seal.at) * interval '1 microsecond',
                timestamptz 'epoch' + \(seal.previousAt)::bigint * interval '1 microsecond', \(seal.lastID),
                \(seal.count), \(seal.previous), \(seal.digest), \(seal.keyID), \(seal.tag))
            """)
    }

    static func entries(
        after first: Int64, upTo last: Int64, limit: Int, on database: some PostgresQuerying
    ) async throws -> [AuditEntry] {
        try await database.query(
            """
            SELECT id, \(unescaped: microseconds("at")), user_id, actor, actor_id, event, detail, session_id, count,
                origin_digest
            FROM audit_entries WHERE id > \(first) AND id <= \(last) ORDER BY id LIMIT \(limit)
            """
        ).map { row in
            let values = try row.decode(
                (Int64, Int64, UUID, String, String?, String, String?, UUID?, Int, [UInt8]?).self)
            return AuditEntry(
                id: values.0, at: values.1, userID: values.2, actor: values.3, actorID: values.4, event: values.5,
                detail: values.6, sessionID: values.7, count: values.8, originDigest: values.9)
        }
    }
}

extension AuditSeal {
    init(row: PostgresRow) throws {
        let values = try row.decode(
            (Int64, Int64, Int64?, Int64, Int, [UInt8], [UInt8], String, [UInt8]).self)
        self.init(
            number: values.0, at: values.1, previousAt: values.2, lastID: values.3, count: values.4,
            previous: values.5, digest: values.6, keyID: values.7, tag: values.8)
    }
}
