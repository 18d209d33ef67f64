import Contracts
import Foundation
import Postgres
import ServiceLifecycle

/// The revocation feed (`GET /internal/revocations`): gives every reader each revoked session at least once, in no
/// special order.
struct RevocationFeed: Sendable {
    let pool: PostgresPool
    var pageSize = 1000
    /// How often the feed is queried for a reader that waits. A revoked session's access token is to be refused
    /// everywhere within a second, and this interval is a part of that second.
    var pollInterval: Duration = .milliseconds(150)

    /// The entries after `cursor`; if there are none yet, waits for some until `end`.
    ///
    /// - Parameter cursor: that of an earlier page; `nil` or empty begins with the oldest entry.
    func page(after cursor: String?, waitingUntil end: ContinuousClock.Instant) async throws -> RevocationPage {
        var position = cursor.flatMap(RevocationCursor.init(text:))
        let isUnreadable = position == nil && cursor?.isEmpty == false
        while true {
            let now = try await state(for: position)
            if isUnreadable || !now.reaches(position) {
                let start = RevocationCursor(history: now.history, seen: nil)
                return RevocationPage(entries: [], cursor: start.text, reset: true, more: true)
            }
            if now.hasEntries || position?.scan != nil { return try await read(from: position, now) }
            if position?.seen == nil || .now >= end || Task.isShuttingDownGracefully {
                let next = RevocationCursor(history: now.history, seen: now.snapshot)
                return RevocationPage(entries: [], cursor: next.text, reset: false, more: false)
            }
            position?.seen = now.snapshot
            try await Task.sleep(until: min(end, .now + pollInterval))
        }
    }

    // MARK: - In PostgreSQL

    /// The feed at one moment, for a reader at some position.
    private struct State {
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

    /// Reads the feed's state, and whether a reader at this position can go on from there.
    ///
    /// A reader starts over in three cases:
    ///
    /// - The history is another one. It is named by the cluster, the timeline and an epoch. The timeline is that of the
    ///   file which is being written: the control file learns of a promotion only at the next checkpoint, minutes after
    ///   the new primary has begun to use transaction numbers again. The epoch ends with a crash, since after one, too,
    ///   numbers are used again: those of transactions that were rolled back, or committed asynchronously, and had not
    ///   reached the disk.
    /// - Entries were purged that it has not read: of a transaction that began after its snapshot, or that was open in
    ///   it and has ended since. A transaction that is still open, be it for weeks, had no entry that could be purged.
    /// - Its snapshot is ahead of the database, which has gone back in time.
    private func state(for position: RevocationCursor?) async throws(PostgresError) -> State {
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
            return try await state(for: position)
        }
        return State(
            history: history, snapshot: snapshot, isPurgedBeyond: isPurgedBeyond, isAhead: isAhead,
            hasEntries: hasEntries)
    }

    private func beginEpoch() async throws(PostgresError) {
        try await pool.query("INSERT INTO revocation_epoch DEFAULT VALUES ON CONFLICT DO NOTHING")
    }

    /// Reads one page: the entries that the scan's snapshot contains and the position's does not. A scan from the
    /// beginning takes every row, since in a restored dump some transactions are of another cluster and in no snapshot.
    ///
    /// `ORDER BY` names the table with the column. The bare name would mean the column of the result, which is text,
    /// and sort 1000 before 999.
    private func read(from position: RevocationCursor?, _ now: State) async throws(PostgresError) -> RevocationPage {
        let seen = position?.seen
        let last = position?.scan
        let snapshot = last?.snapshot ?? now.snapshot
        let rows = try await pool.query(
            """
            SELECT transaction_id::text, id, session_id, user_id, revoked_at,
                greatest(0, extract(epoch FROM clock_timestamp() - revoked_at)::double precision), access_expires_at, reason
            FROM revocations
            WHERE (transaction_id, id) > (\(String(last?.transaction ?? 0))::xid8, \(last?.id ?? 0))
                AND transaction_id >= \(firstNotIn: seen)
                AND (\(seen) IS NULL OR NOT pg_visible_in_snapshot(transaction_id, \(seen)::pg_snapshot)
                    AND pg_visible_in_snapshot(transaction_id, \(snapshot)::pg_snapshot))
            ORDER BY revocations.transaction_id, id LIMIT \(pageSize)
            """)
        let decoded = try rows.decode((String, Int64, UUID, UUID, Date, Double, Date, String).self)
        var next = RevocationCursor(history: now.history, seen: snapshot)
        if decoded.count == pageSize, let end = decoded.last {
            next = RevocationCursor(
                history: now.history, seen: seen,
                scan: .init(snapshot: snapshot, transaction: UInt64(end.0) ?? 0, id: end.1))
        }
        let entries = decoded.map { row in
            RevocationPage.Entry(
                sessionID: row.2, userID: row.3, revokedAt: row.4, age: row.5,
                accessExpiresAt: row.6, reason: RevocationReason(rawValue: row.7))
        }
        return RevocationPage(entries: entries, cursor: next.text, reset: false, more: next.scan != nil)
    }
}

extension PostgresQuery.Interpolation {
    /// The first transaction of which the snapshot may not have all entries: the oldest that was open when it was taken
    /// and has written entries since, or else the first that had not begun. The snapshot's own `xmin` will not do: it
    /// may be of a transaction that has been open for weeks, and everything since would be read again.
    fileprivate mutating func appendInterpolation(firstNotIn snapshot: String?) {
        appendLiteral("COALESCE((SELECT transaction_id FROM revocations WHERE transaction_id = ANY (ARRAY(SELECT ")
        appendLiteral("pg_snapshot_xip(")
        appendInterpolation(snapshot)
        appendLiteral("::pg_snapshot))) ORDER BY revocations.transaction_id LIMIT 1), pg_snapshot_xmax(")
        appendInterpolation(snapshot)
        appendLiteral("::pg_snapshot), '0')")
    }
}
