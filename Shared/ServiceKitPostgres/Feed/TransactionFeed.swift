import Foundation
public import Postgres
import ServiceLifecycle

/// A feed of a table's rows for readers in other processes. Each reader gets every row at least once, including rows
/// that are committed late.
///
/// The table has the columns `transaction_id xid8 DEFAULT pg_current_xact_id()` and `id bigint`, and an index over both.
/// The feed also needs a horizon table (one row, `purged_through xid8`) and an epoch table (one row, unlogged,
/// `id uuid`).
public struct TransactionFeed<Entry: Sendable>: Sendable {
    /// The tables and columns of the feed.
    public struct Source: Sendable {
        var table: String
        var horizon: String
        var epoch: String
        var columns: String

        /// - Parameters:
        ///   - horizon: the table with the last transaction whose rows were removed.
        ///   - epoch: the unlogged table whose row a crash removes.
        ///   - columns: the columns of an entry. The feed adds `transaction_id` and `id`.
        public init(table: String, horizon: String, epoch: String, columns: String) {
            self.table = table
            self.horizon = horizon
            self.epoch = epoch
            self.columns = columns
        }
    }

    /// Some entries, and the cursor for the next page.
    public struct Page: Sendable {
        /// In the order of their transactions' numbers, and within one transaction in the order of their ids.
        public var entries: [Entry]
        /// The opaque cursor for the next page.
        public var cursor: String
        /// The given cursor is older than the retained entries, or belongs to another history: the reader must start
        /// over.
        public var reset: Bool
        /// More entries are available now.
        public var more: Bool
    }

    let database: PostgresPool
    let source: Source
    let pageSize: Int
    let pollInterval: Duration
    private let decode: @Sendable (PostgresRow) throws -> Entry

    /// - Parameters:
    ///   - pollInterval: the time between two queries for a waiting reader.
    ///   - decode: reads an entry, by the names of its columns.
    public init(
        _ source: Source, database: PostgresPool, pageSize: Int, pollInterval: Duration,
        decode: @escaping @Sendable (PostgresRow) throws -> Entry
    ) {
        self.database = database
        self.source = source
        self.pageSize = pageSize
        self.pollInterval = pollInterval
        self.decode = decode
    }

    /// The entries after `cursor`. If none exist yet, waits for entries until `end`.
    ///
    /// - Parameter cursor: the cursor of an earlier page. `nil` or empty begins with the oldest entry.
    public func page(after cursor: String?, waitingUntil end: ContinuousClock.Instant) async throws -> Page {
        var position = cursor.flatMap(FeedCursor.init(text:))
        let isUnreadable = position == nil && cursor?.isEmpty == false
        while true {
            let current = try await state(for: position)
            if isUnreadable || !current.reaches(position) {
                let start = FeedCursor(history: current.history, seen: nil)
                return Page(entries: [], cursor: start.text, reset: true, more: true)
            }
            if current.hasEntries || position?.scan != nil { return try await read(from: position, current) }
            if position?.seen == nil || .now >= end || Task.isShuttingDownGracefully {
                let next = FeedCursor(history: current.history, seen: current.snapshot)
                return Page(entries: [], cursor: next.text, reset: false, more: false)
            }
            position?.seen = current.snapshot
            try await Task.sleep(until: min(end, .now + pollInterval))
        }
    }

    /// The cursor of a reader that has read all entries.
    public func end() async throws -> String {
        let current = try await state(for: nil)
        return FeedCursor(history: current.history, seen: current.snapshot).text
    }

    // MARK: - In PostgreSQL

    /// Reads one page: the entries that the scan's snapshot contains and the position's does not. A scan from the
    /// beginning reads every row, because in a restored dump some transactions belong to another cluster and to no
    /// snapshot.
    ///
    /// `ORDER BY` qualifies the column with the table. The unqualified name would mean the column of the result, which
    /// is text, and would sort 1000 before 999.
    private func read(from position: FeedCursor?, _ current: State) async throws -> Page {
        let seen = position?.seen
        let last = position?.scan
        let snapshot = last?.snapshot ?? current.snapshot
        let rows = try await database.query(
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
        var next = FeedCursor(history: current.history, seen: snapshot)
        if rows.count == pageSize, let end = rows.last {
            let transaction: String = try end.decode("transaction_id")
            next = FeedCursor(
                history: current.history, seen: seen,
                scan: .init(
                    snapshot: snapshot, transaction: UInt64(transaction) ?? 0, id: try end.decode("id")))
        }
        return Page(entries: entries, cursor: next.text, reset: false, more: next.scan != nil)
    }
}

extension TransactionFeed {
    /// The state of the feed at one moment, for a reader at a position.
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

    /// Reads the feed's state, and whether a reader at this position can continue.
    ///
    /// A reader starts over in three cases:
    ///
    /// - The history has changed. Cluster, timeline and epoch identify it. The timeline is that of the file being
    ///   written: the control file shows a promotion only after the next checkpoint, minutes after the new primary
    ///   began to reuse transaction numbers. The epoch ends with a crash, because PostgreSQL reuses numbers after a
    ///   crash too: those of transactions that were rolled back, or committed asynchronously, and had not reached the
    ///   disk.
    /// - Entries that the reader has not read were purged: entries of a transaction that began after its snapshot, or
    ///   that was open in it and has ended since. A transaction that is still open had no entry that could be purged.
    /// - Its snapshot is ahead of the database, because the database was restored to an earlier state.
    func state(for position: FeedCursor?) async throws(PostgresError) -> State {
        let seen = position?.seen
        let rows = try await database.query(
            """
            SELECT
                (SELECT system_identifier FROM pg_control_system())::text || '-' ||
                    ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer::text || '-' ||
                    (SELECT id FROM \(unescaped: source.epoch))::text AS history,
                pg_current_snapshot()::text AS snapshot,
                EXISTS (
                    SELECT FROM \(unescaped: source.horizon)
                    WHERE purged_through < pg_snapshot_xmax(pg_current_snapshot())
                        AND (purged_through >= pg_snapshot_xmax(\(seen)::pg_snapshot)
                            OR EXISTS (
                                SELECT FROM pg_snapshot_xip(\(seen)::pg_snapshot) AS open (id)
                                WHERE id <= purged_through AND pg_visible_in_snapshot(id, pg_current_snapshot())))
                ) AS is_purged_beyond,
                COALESCE(
                    pg_snapshot_xmax(\(seen)::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot()), false
                ) AS is_ahead,
                EXISTS (
                    SELECT FROM \(unescaped: source.table)
                    WHERE transaction_id >= \(firstOf: source.table, notIn: seen)
                        AND (\(seen) IS NULL OR NOT pg_visible_in_snapshot(transaction_id, \(seen)::pg_snapshot)
                            AND pg_visible_in_snapshot(transaction_id, pg_current_snapshot()))
                ) AS has_entries
            """, usesReserve: true)
        let row = rows[0]
        guard let history = try row.decode("history", as: String?.self) else {
            try await beginEpoch()
            return try await state(for: position)
        }
        return State(
            history: history, snapshot: try row.decode("snapshot"),
            isPurgedBeyond: try row.decode("is_purged_beyond"), isAhead: try row.decode("is_ahead"),
            hasEntries: try row.decode("has_entries"))
    }

    private func beginEpoch() async throws(PostgresError) {
        try await database.query(
            "INSERT INTO \(unescaped: source.epoch) DEFAULT VALUES ON CONFLICT DO NOTHING", usesReserve: true)
    }
}

extension PostgresQuery.Interpolation {
    /// The first transaction whose entries the snapshot may lack: the oldest that was open at the snapshot and has
    /// written entries since, or else the first that had not begun. The snapshot's own `xmin` is unsuitable: it may
    /// belong to a transaction that has been open for weeks, and every entry since would be read again.
    mutating func appendInterpolation(firstOf table: String, notIn snapshot: String?) {
        appendInterpolation(
            unescaped: "COALESCE((SELECT transaction_id FROM \(table) WHERE transaction_id = ANY (ARRAY(SELECT ")
        appendLiteral("pg_snapshot_xip(")
        appendInterpolation(snapshot)
        appendInterpolation(unescaped: "::pg_snapshot))) ORDER BY \(table).transaction_id LIMIT 1), pg_snapshot_xmax(")
        appendInterpolation(snapshot)
        appendLiteral("::pg_snapshot), '0')")
    }

    /// `UPDATE` of a feed's horizon to the newest transaction whose entries were removed. Readers that have not seen it
    /// start over. In a database that was restored from a dump, entries have transaction numbers of another cluster.
    /// Numbers that this cluster has not reached yet are ignored.
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
