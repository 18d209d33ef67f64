import Foundation
public import Postgres
import ServiceLifecycle

/// A feed of a table's rows for readers in other processes: each gets every row at least once, those that are committed
/// late included.
///
/// The table has the columns `transaction_id xid8 DEFAULT pg_current_xact_id()` and `id bigint`, and an index over both.
/// Beside it stand a horizon (one row, `purged_through xid8`) and an epoch (one row, unlogged, `id uuid`).
public struct TransactionFeed<Entry: Sendable>: Sendable {
    /// Where the rows are.
    public struct Source: Sendable {
        var table: String
        var horizon: String
        var epoch: String
        var columns: String

        /// - Parameters:
        ///   - horizon: the table that says up to which transaction rows were removed.
        ///   - epoch: the unlogged table whose row a crash removes.
        ///   - columns: those of an entry.
        public init(table: String, horizon: String, epoch: String, columns: String) {
            self.table = table
            self.horizon = horizon
            self.epoch = epoch
            self.columns = columns
        }
    }

    /// Some entries, and where to go on.
    public struct Page: Sendable {
        /// In the order of their transactions' numbers, and those of one transaction in the order of their ids.
        public var entries: [Entry]
        /// Opaque: what to go on from.
        public var cursor: String
        /// The cursor that was given is older than what is kept, or of another history: read everything anew.
        public var reset: Bool
        /// More entries wait.
        public var more: Bool
    }

    let pool: PostgresPool
    let source: Source
    let pageSize: Int
    let pollInterval: Duration
    private let decode: @Sendable (PostgresRow) throws -> Entry

    /// The first of the entry's own columns.
    public static var firstColumn: Int { 2 }

    /// - Parameters:
    ///   - pollInterval: how often the table is looked at for a reader that waits.
    ///   - decode: reads an entry from ``firstColumn`` on.
    public init(
        _ source: Source, pool: PostgresPool, pageSize: Int, pollInterval: Duration,
        decode: @escaping @Sendable (PostgresRow) throws -> Entry
    ) {
        self.pool = pool
        self.source = source
        self.pageSize = pageSize
        self.pollInterval = pollInterval
        self.decode = decode
    }

    /// The entries after `cursor`; if there are none yet, waits for some until `end`.
    ///
    /// - Parameter cursor: that of an earlier page; `nil` or empty begins with the oldest entry.
    public func page(after cursor: String?, waitingUntil end: ContinuousClock.Instant) async throws -> Page {
        var position = cursor.flatMap(FeedCursor.init(text:))
        let isUnreadable = position == nil && cursor?.isEmpty == false
        while true {
            let now = try await state(for: position)
            if isUnreadable || !now.reaches(position) {
                let start = FeedCursor(history: now.history, seen: nil)
                return Page(entries: [], cursor: start.text, reset: true, more: true)
            }
            if now.hasEntries || position?.scan != nil { return try await read(from: position, now) }
            if position?.seen == nil || .now >= end || Task.isShuttingDownGracefully {
                let next = FeedCursor(history: now.history, seen: now.snapshot)
                return Page(entries: [], cursor: next.text, reset: false, more: false)
            }
            position?.seen = now.snapshot
            try await Task.sleep(until: min(end, .now + pollInterval))
        }
    }

    /// The cursor of a reader that has read everything there is.
    public func end() async throws -> String {
        let now = try await state(for: nil)
        return FeedCursor(history: now.history, seen: now.snapshot).text
    }

    // MARK: - In PostgreSQL

    /// Reads one page: the entries that the scan's snapshot contains and the position's does not. A scan from the
    /// beginning takes every row, since in a restored dump some transactions are of another cluster and in no snapshot.
    ///
    /// `ORDER BY` names the table with the column. The bare name would mean the column of the result, which is text,
    /// and sort 1000 before 999.
    private func read(from position: FeedCursor?, _ now: State) async throws -> Page {
        let seen = position?.seen
        let last = position?.scan
        let snapshot = last?.snapshot ?? now.snapshot
        let rows = try await pool.query(
            """
            SELECT transaction_id::text, id, \(unescaped: source.columns)
            FROM \(unescaped: source.table)
            WHERE (transaction_id, id) > (\(String(last?.transaction ?? 0))::xid8, \(last?.id ?? 0))
                AND transaction_id >= \(firstOf: source.table, notIn: seen)
                AND (\(seen) IS NULL OR NOT pg_visible_in_snapshot(transaction_id, \(seen)::pg_snapshot)
                    AND pg_visible_in_snapshot(transaction_id, \(snapshot)::pg_snapshot))
            ORDER BY \(unescaped: source.table).transaction_id, id LIMIT \(pageSize)
            """, usesReserve: true)
        let entries = try rows.map(decode)
        var next = FeedCursor(history: now.history, seen: snapshot)
        if rows.count == pageSize, let end = rows.last {
            let transaction = try end.decode(String.self, column: 0)
            next = FeedCursor(
                history: now.history, seen: seen,
                scan: .init(
                    snapshot: snapshot, transaction: UInt64(transaction) ?? 0, id: try end.decode(column: 1)))
        }
        return Page(entries: entries, cursor: next.text, reset: false, more: next.scan != nil)
    }
}

extension TransactionFeed {
    /// The feed at one moment, for a reader at some position.
    struct State {
        var history: String
        var snapshot: String
        var isPurgedBeyond: Bool
        var isAhead: Bool
        var hasEntries: Bool

        func reaches(_ position: FeedCursor?) -> Bool {
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
    func state(for position: FeedCursor?) async throws(PostgresError) -> State {
        let seen = position?.seen
        let rows = try await pool.query(
            """
            SELECT
                (SELECT system_identifier FROM pg_control_system())::text || '-' ||
                    ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer::text || '-' ||
                    (SELECT id FROM \(unescaped: source.epoch))::text,
                pg_current_snapshot()::text,
                EXISTS (
                    SELECT FROM \(unescaped: source.horizon)
                    WHERE purged_through < pg_snapshot_xmax(pg_current_snapshot())
                        AND (purged_through >= pg_snapshot_xmax(\(seen)::pg_snapshot)
                            OR EXISTS (
                                SELECT FROM pg_snapshot_xip(\(seen)::pg_snapshot) AS open (id)
                                WHERE id <= purged_through AND pg_visible_in_snapshot(id, pg_current_snapshot())))),
                COALESCE(
                    pg_snapshot_xmax(\(seen)::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot()), false),
                EXISTS (
                    SELECT FROM \(unescaped: source.table)
                    WHERE transaction_id >= \(firstOf: source.table, notIn: seen)
                        AND (\(seen) IS NULL OR NOT pg_visible_in_snapshot(transaction_id, \(seen)::pg_snapshot)
                            AND pg_visible_in_snapshot(transaction_id, pg_current_snapshot())))
            """, usesReserve: true)
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
        try await pool.query(
            "INSERT INTO \(unescaped: source.epoch) DEFAULT VALUES ON CONFLICT DO NOTHING", usesReserve: true)
    }
}

extension PostgresQuery.Interpolation {
    /// The first transaction of which the snapshot may not have all entries: the oldest that was open when it was taken
    /// and has written entries since, or else the first that had not begun. The snapshot's own `xmin` will not do: it
    /// may be of a transaction that has been open for weeks, and everything since would be read again.
    mutating func appendInterpolation(firstOf table: String, notIn snapshot: String?) {
        appendInterpolation(
            unescaped: "COALESCE((SELECT transaction_id FROM \(table) WHERE transaction_id = ANY (ARRAY(SELECT ")
        appendLiteral("pg_snapshot_xip(")
        appendInterpolation(snapshot)
        appendInterpolation(unescaped: "::pg_snapshot))) ORDER BY \(table).transaction_id LIMIT 1), pg_snapshot_xmax(")
        appendInterpolation(snapshot)
        appendLiteral("::pg_snapshot), '0')")
    }

    /// `UPDATE` of a feed's horizon to the newest transaction whose entries were removed: readers that have not seen it
    /// start over. In a database that was restored from a dump, entries bear transaction numbers of another cluster;
    /// those that are still to come in this one are ignored.
    ///
    /// - Parameter removed: a query of the same statement, with the column `transaction_id`.
    public mutating func appendInterpolation(raise horizon: String, toThoseOf removed: String) {
        appendInterpolation(
            unescaped: """
                UPDATE \(horizon) SET purged_through = GREATEST(
                    CASE WHEN purged_through < pg_snapshot_xmax(pg_current_snapshot()) THEN purged_through ELSE '0' END,
                    (SELECT transaction_id FROM \(removed)
                        WHERE transaction_id < pg_snapshot_xmax(pg_current_snapshot())
                        ORDER BY transaction_id DESC LIMIT 1))
                WHERE EXISTS (SELECT FROM \(removed))
                """)
    }
}
