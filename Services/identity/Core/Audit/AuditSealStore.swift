import Crypto
import Foundation
package import Postgres
package import Sealing
package import ServiceKitPostgres

/// The hash chain over the audit log (table `audit_seals`).
///
/// Writing an entry does not wait for the chain. A background task seals entries some seconds later, in the order of
/// the numbers that they got after their commit (table `audit_log`): no entry appears before one that is sealed.
package struct AuditSealStore: Sendable {
    let database: PostgresPool
    private let keys: KeyRing

    /// The most entries that one seal covers.
    static let batch = 1000
    /// The id of the advisory lock that a process holds while it adds or removes seals. One replica at a time has it.
    static let lock: Int64 = 0x6761_7465_6175_6469

    /// - Parameter keys: the keys of the passwords' pepper. A key stays in its file as long as a password hash uses it.
    package init(database: PostgresPool, keys: KeyRing) {
        self.database = database
        self.keys = keys.derived(for: "gatehouse identity audit seals")
    }

    /// Seals the next entries.
    /// - Returns: the seal; `nil` where nothing has to be sealed, or another process is sealing.
    func seal(limit: Int = batch) async throws -> AuditSeal? {
        try await database.withTransaction { transaction in
            guard try await Self.lock(on: transaction) else { return nil }
            let last = try await Self.newest(on: transaction)
            let entries = try await Self.entries(after: last?.lastSeq ?? 0, limit: limit, on: transaction)
            guard !entries.isEmpty else { return nil }
            let now = try await transaction.query("SELECT \(unescaped: Self.microseconds("now()"))")[0]
                .decode(Int64.self)
            let seal = AuditSeal(
                after: last, over: entries, at: now, keyID: keys.current.id, key: keys.current.secret)
            try await Self.add(seal, on: transaction)
            return seal
        }
    }

    /// Removes the oldest seal with its entries, if it was created more than `days` ago. The newest seal stays, because
    /// the next one refers to it. Ids of deleted users are kept in `deleted_users` until an import may use them again.
    /// - Returns: whether one was removed.
    func removeOldest(olderThan days: Int) async throws -> Bool {
        try await database.withTransaction { transaction in
            guard try await Self.lock(on: transaction) else { return false }
            let oldest = try await transaction.query(
                """
                SELECT number, last_seq FROM audit_seals
                WHERE at < now() - make_interval(days => \(days)::integer)
                    AND number < (SELECT max(number) FROM audit_seals)
                ORDER BY number LIMIT 1
                """
            ).first?.decode((Int64, Int64).self)
            guard let (number, lastSeq) = oldest else { return false }
            try await transaction.query(
                """
                WITH old AS (
                    DELETE FROM audit_log WHERE seq <= \(lastSeq) RETURNING entry_id
                ), origins AS (
                    DELETE FROM audit_origins USING old WHERE audit_origins.entry_id = old.entry_id
                ), removed AS (
                    DELETE FROM audit_entries USING old WHERE id = old.entry_id
                    RETURNING user_id, event, audit_entries.at
                )
                INSERT INTO deleted_users (user_id, at)
                SELECT user_id, max(at) FROM removed
                WHERE event = \(AuditEvent.deleted.rawValue)
                    AND at >= now() - make_interval(days => \(AuditStore.deletionMemory)::integer)
                GROUP BY user_id
                ON CONFLICT (user_id) DO UPDATE SET at = greatest(deleted_users.at, excluded.at)
                """)
            try await transaction.query("DELETE FROM audit_seals WHERE number = \(number)")
            return true
        }
    }

    /// The entries that were added more than `days` ago are removed with their seals.
    package func expiredEntries(after days: Int) -> Purger.Table {
        Purger.Table("audit_entries") { try await removeOldest(olderThan: days) ? .zero : nil }
    }

    /// The age in seconds of the oldest entry without a seal; `nil` where all have one.
    func oldestUnsealedAge() async throws -> Double? {
        try await database.query(
            """
            SELECT extract(epoch FROM now() - least(
                (SELECT added_at FROM pending_audit_entries ORDER BY added_at LIMIT 1),
                (SELECT at FROM audit_log
                WHERE seq > coalesce((SELECT last_seq FROM audit_seals ORDER BY number DESC LIMIT 1), 0)
                ORDER BY seq LIMIT 1)))::double precision
            """
        )[0].decode(Double?.self)
    }

    /// Verifies the hash chain of the whole log.
    /// - Parameters:
    ///   - days: the retention of entries; `nil` keeps them for ever.
    ///   - noted: the number and digest of a seal that the operator noted elsewhere.
    ///   - progress: receives the number of entries read.
    package func verify(
        days: Int?, noted: (number: Int64, digest: [UInt8])? = nil, progress: (Int) -> Void = { _ in }
    ) async throws -> AuditVerification {
        var verification = AuditVerification()
        var lastSeq: Int64 = 0
        while true {
            let seals = try await database.query(
                """
                SELECT \(unescaped: Self.columns) FROM audit_seals
                WHERE number > \(verification.last?.number ?? 0) ORDER BY number LIMIT 100
                """
            ).map(AuditSeal.init)
            guard !seals.isEmpty else { break }
            for seal in seals {
                // One more than expected, so that a surplus entry is found.
                let entries = try await Self.entries(
                    after: lastSeq, upTo: seal.lastSeq, limit: seal.count + 1, on: database)
                // Retention may have removed both since the seals were read.
                if verification.last == nil, entries.isEmpty, try await !isThere(seal) { continue }
                verification.check(seal, over: entries, key: keys[seal.keyID])
                lastSeq = seal.lastSeq
                progress(verification.entries)
            }
        }
        let now = try await database.query("SELECT \(unescaped: Self.microseconds("now()"))")[0].decode(Int64.self)
        verification.checkBeginning(keptSince: days.map { now - Int64($0) * 86_400_000_000 })
        if let noted {
            let found = try await database.query(
                "SELECT \(unescaped: Self.columns) FROM audit_seals WHERE number = \(noted.number)"
            ).first.map(AuditSeal.init)
            verification.check(noted: noted.number, found: found, digest: noted.digest)
        }
        verification.checkEnd(unsealedFor: try await oldestUnsealedAge())
        verification.checkNumbers(missing: try await entriesWithoutNumber())
        return verification
    }

    /// Entries that are neither numbered nor waiting for it.
    private func entriesWithoutNumber() async throws -> Int {
        try await database.query(
            """
            SELECT count(*) FROM audit_entries AS entry
            WHERE NOT EXISTS (SELECT FROM audit_log WHERE entry_id = entry.id)
                AND NOT EXISTS (SELECT FROM pending_audit_entries AS pending WHERE pending.entry_id = entry.id)
            """)[0].decode(Int.self)
    }

    private func isThere(_ seal: AuditSeal) async throws -> Bool {
        try await !database.query("SELECT number FROM audit_seals WHERE number = \(seal.number)").isEmpty
    }
}

extension AuditSealStore {
    static let columns = """
        number, \(microseconds("at")) AS at, \(microseconds("previous_at")) AS previous_at, last_seq, entries, previous,
        digest, key_id, tag
        """

    static func microseconds(_ column: String) -> String {
        "(extract(epoch FROM \(column)) * 1000000)::bigint"
    }

    /// - Returns: whether no other process holds the lock. It is held until the transaction ends.
    static func lock(on transaction: PostgresTransaction) async throws -> Bool {
        try await transaction.query("SELECT pg_try_advisory_xact_lock(\(lock))")[0].decode(Bool.self)
    }

    static func newest(on transaction: PostgresTransaction) async throws -> AuditSeal? {
        try await transaction.query(
            "SELECT \(unescaped: columns) FROM audit_seals ORDER BY number DESC LIMIT 1"
        ).first.map(AuditSeal.init)
    }

    static func add(_ seal: AuditSeal, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            """
            INSERT INTO audit_seals (number, at, previous_at, last_seq, entries, previous, digest, key_id, tag)
            VALUES (\(seal.number), timestamptz 'epoch' + \(seal.at) * interval '1 microsecond',
                timestamptz 'epoch' + \(seal.previousAt)::bigint * interval '1 microsecond', \(seal.lastSeq),
                \(seal.count), \(seal.previous), \(seal.digest), \(seal.keyID), \(seal.tag))
            """)
    }

    static func entries(
        after first: Int64, upTo last: Int64 = .max, limit: Int, on database: some PostgresQuerying
    ) async throws -> [AuditEntry] {
        try await database.query(
            """
            SELECT seq, id, \(unescaped: microseconds("audit_entries.at")) AS at, user_id, actor, actor_id, event,
                detail, session_id, count, origin_digest
            FROM audit_log JOIN audit_entries ON id = entry_id
            WHERE seq > \(first) AND seq <= \(last) ORDER BY seq LIMIT \(limit)
            """
        ).map(AuditEntry.init)
    }
}

extension AuditEntry {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            seq: try row.decode("seq"), id: try row.decode("id"), at: try row.decode("at"),
            userID: try row.decode("user_id"),
            actor: try row.decode("actor"), actorID: try row.decode("actor_id"), event: try row.decode("event"),
            detail: try row.decode("detail"), sessionID: try row.decode("session_id"), count: try row.decode("count"),
            originDigest: try row.decode("origin_digest"))
    }
}

extension AuditSeal {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            number: try row.decode("number"), at: try row.decode("at"), previousAt: try row.decode("previous_at"),
            lastSeq: try row.decode("last_seq"), count: try row.decode("entries"), previous: try row.decode("previous"),
            digest: try row.decode("digest"), keyID: try row.decode("key_id"), tag: try row.decode("tag"))
    }
}
