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
