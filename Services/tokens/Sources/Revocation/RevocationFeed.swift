import Contracts
import Foundation
import Postgres
import ServiceLifecycle

/// The revocation feed (`GET /internal/revocations`): every revoked session, to every reader, in no special order,
/// at least once.
struct RevocationFeed: Sendable {
    let pool: PostgresPool
    var pageSize = 1000
    /// How often a waiting reader looks. Within it, the network and the gateway lies the second after which a revoked
    /// session's access token is refused everywhere.
    var pollInterval: Duration = .milliseconds(150)

    /// What has been revoked since `cursor`, waiting for it until `end`.
    ///
    /// - Parameter cursor: as an earlier page gave it; `nil` or empty begins with the oldest entry.
    func page(after cursor: String?, waitingUntil end: ContinuousClock.Instant) async throws -> RevocationPage {
        var position = cursor.flatMap(RevocationCursor.init(text:))
        let isUnreadable = position == nil && cursor?.isEmpty == false
        while true {
            let now = try await look(from: position)
            if isUnreadable || !now.reaches(position) {
                let start = RevocationCursor(history: now.history, seen: nil)
                return RevocationPage(entries: [], cursor: start.text, reset: true, more: true)
            }
            if now.hasEntries || position?.reading != nil { return try await read(from: position, now) }
            if position?.seen == nil || .now >= end || Task.isShuttingDownGracefully {
                let next = RevocationCursor(history: now.history, seen: now.snapshot)
                return RevocationPage(entries: [], cursor: next.text, reset: false, more: false)
            }
            position?.seen = now.snapshot
            try await Task.sleep(until: min(end, .now + pollInterval))
        }
    }

    // MARK: - In PostgreSQL

    /// The feed at one moment, seen from a position.
    private struct Look {
        var history: String
        var snapshot: String
        var isPurgedBeyond: Bool
        var isAhead: Bool
        var hasEntries: Bool

        func reaches(_ position: RevocationCursor?) -> Bool {
            guard let position else { return true }
            return position.history == history && !isPurgedBeyond && !isAhead
        }
    }

    /// A cursor from before the oldest kept entry, or from a database that has gone back in time, cannot go on.
    ///
    /// The history is that of what is being written: the control file learns of a promotion by the next checkpoint,
    /// minutes after transactions' numbers of the other history were used again. The epoch ends with each crash, after
    /// which numbers are used again too: those of transactions that were rolled back, or committed asynchronously, and
    /// had not reached the disk. What was purged concerns a cursor that
    /// has not seen it: by a transaction that began later, or that was open then and is not any more. One that is open
    /// still, be it for weeks, had nothing that could be purged.
    private func look(from position: RevocationCursor?) async throws(PostgresError) -> Look {
        let seen = position?.seen
        let rows = try await pool.query(
            """
            SELECT
                (SELECT system_identifier FROM pg_control_system())::text || '-' ||
                    ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer::text || '-' ||
                    (SELECT id FROM revocation_epoch)::text,
                pg_current_snapshot()::text,
                EXISTS (
                    SELECT FROM revocation_horizon
                    WHERE purged_through < pg_snapshot_xmax(pg_current_snapshot())
                        AND (purged_through >= pg_snapshot_xmax(\(seen)::pg_snapshot)
                            OR EXISTS (
                                SELECT FROM pg_snapshot_xip(\(seen)::pg_snapshot) AS open (id)
                                WHERE id <= purged_through AND pg_visible_in_snapshot(id, pg_current_snapshot())))),
                COALESCE(
                    pg_snapshot_xmax(\(seen)::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot()), false),
                EXISTS (
                    SELECT FROM revocations
                    WHERE transaction_id >= \(firstNotIn: seen)
                        AND (\(seen) IS NULL OR NOT pg_visible_in_snapshot(transaction_id, \(seen)::pg_snapshot)
                            AND pg_visible_in_snapshot(transaction_id, pg_current_snapshot())))
            """)
        let (history, snapshot, isPurgedBeyond, isAhead, hasEntries) = try rows[0].decode(
            (String?, String, Bool, Bool, Bool).self)
        guard let history else {
            try await beginEpoch()
            return try await look(from: position)
        }
        return Look(
            history: history, snapshot: snapshot, isPurgedBeyond: isPurgedBeyond, isAhead: isAhead,
            hasEntries: hasEntries)
    }

    private func beginEpoch() async throws(PostgresError) {
        try await pool.query("INSERT INTO revocation_epoch DEFAULT VALUES ON CONFLICT DO NOTHING")
    }

    /// One page of what the reading's snapshot sees and the position's has not seen. A reading of the whole takes
    /// every row: one whose transaction is not of this cluster (a restored dump) is in no snapshot.
    ///
    /// The order names the table's column. The bare name would be that of the answer's, which is text: 1000 before 999.
    private func read(from position: RevocationCursor?, _ now: Look) async throws(PostgresError) -> RevocationPage {
        let seen = position?.seen
        let last = position?.reading
        let snapshot = last?.snapshot ?? now.snapshot
        let rows = try await pool.query(
            """
            SELECT transaction_id::text, id, session_id, user_id, revoked_at, access_expires_at, reason
            FROM revocations
            WHERE (transaction_id, id) > (\(String(last?.transaction ?? 0))::xid8, \(last?.id ?? 0))
                AND transaction_id >= \(firstNotIn: seen)
                AND (\(seen) IS NULL OR NOT pg_visible_in_snapshot(transaction_id, \(seen)::pg_snapshot)
                    AND pg_visible_in_snapshot(transaction_id, \(snapshot)::pg_snapshot))
            ORDER BY revocations.transaction_id, id LIMIT \(pageSize)
            """)
        let decoded = try rows.decode((String, Int64, UUID, UUID, Date, Date, String).self)
        var next = RevocationCursor(history: now.history, seen: snapshot)
        if decoded.count == pageSize, let end = decoded.last {
            next = RevocationCursor(
                history: now.history, seen: seen,
                reading: .init(snapshot: snapshot, transaction: UInt64(end.0) ?? 0, id: end.1))
        }
        let entries = decoded.map { row in
            RevocationPage.Entry(
                sessionID: row.2, userID: row.3, revokedAt: row.4, accessExpiresAt: row.5,
                reason: RevocationReason(rawValue: row.6))
        }
        return RevocationPage(entries: entries, cursor: next.text, reset: false, more: next.reading != nil)
    }
}

extension PostgresQuery.Interpolation {
    /// Before which transaction a snapshot has seen all entries: that of the first of those that were open when it was
    /// taken, or else the first to come. Its own `xmin` may be that of a transaction that has been open for weeks.
    fileprivate mutating func appendInterpolation(firstNotIn snapshot: String?) {
        appendLiteral("COALESCE((SELECT transaction_id FROM revocations WHERE transaction_id = ANY (ARRAY(SELECT ")
        appendLiteral("pg_snapshot_xip(")
        appendInterpolation(snapshot)
        appendLiteral("::pg_snapshot))) ORDER BY revocations.transaction_id LIMIT 1), pg_snapshot_xmax(")
        appendInterpolation(snapshot)
        appendLiteral("::pg_snapshot), '0')")
    }
}
