import Foundation
import Limits
public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization

/// A feed of committed rows for readers in other processes. Each reader gets every entry at least once.
///
/// A transaction adds its entries to a table of pending ones. After its commit, a stamper moves them into the feed's log
/// under consecutive numbers: one replica at a time, so that an entry that commits late gets a later number, and a reader
/// that has read up to a number has missed nothing before it. PostgreSQL does so in one function (`stamp`), which waits
/// for no client while it holds the lock:
///
///     stamp(reach double precision, most integer, OUT stamped integer, OUT head bigint)
///
/// It moves at most `most` entries that were added within `reach` seconds, or any time before where `reach` is NULL. The
/// log has the columns `seq bigint PRIMARY KEY` and `tag bigint`, which is random, and always keeps its newest row.
public final class StampedFeed<Entry: Sendable>: Service {
    /// The tables, columns and function of a feed.
    public struct Source: Sendable {
        var log: String
        var stamp: String
        var columns: String

        /// - Parameters:
        ///   - log: the log's table, or a join with it.
        ///   - stamp: the name of the function that stamps entries.
        ///   - columns: the columns of an entry. The feed adds `seq` and `tag`.
        public init(log: String, stamp: String, columns: String) {
            self.log = log
            self.stamp = stamp
            self.columns = columns
        }
    }

    /// Some entries, and the cursor for the next page.
    public struct Page: Sendable {
        /// In the order of their numbers.
        public var entries: [Entry]
        /// The opaque cursor for the next page.
        public var cursor: String
        /// The given cursor's entry was purged, or belongs to another history: the reader must start over.
        public var reset: Bool
        /// More entries are available now.
        public var more: Bool
    }

    private struct Read: Hashable {
        var cursor: String?
        var filter: String
        var changes: Int
    }

    private let database: PostgresPool
    private let source: Source
    private let pageSize: Int
    private let interval: Duration
    private let logger: Logger
    private let decode: @Sendable (PostgresRow) throws -> Entry
    /// Entries that this process has added.
    private let additions = Signal()
    /// Entries that any process has stamped.
    private let changes = Signal()
    private let head = Mutex<Int64?>(nil)
    private let reads = SingleFlight<Read, Page>()

    /// Entries that one call stamps at most.
    private static var batch: Int { 1000 }

    /// - Parameters:
    ///   - interval: how often pending entries of other replicas are looked for, and readers learn of them.
    ///   - decode: reads an entry, by the names of its columns.
    public init(
        _ source: Source, database: PostgresPool, pageSize: Int, interval: Duration = .milliseconds(300),
        logger: Logger, decode: @escaping @Sendable (PostgresRow) throws -> Entry
    ) {
        self.source = source
        self.database = database
        self.pageSize = pageSize
        self.interval = interval
        self.logger = logger
        self.decode = decode
    }

    // MARK: - Reading

    /// The entries after `cursor`. If none exist yet, waits for entries until `end`. A reader that does not wait misses
    /// nothing that was committed.
    ///
    /// - Parameters:
    ///   - cursor: the cursor of an earlier page. `nil` or empty begins with the oldest entry.
    ///   - filter: an SQL condition. The cursor passes over entries that do not meet it.
    public func page(
        after cursor: String?, where filter: String = "true", waitingUntil end: ContinuousClock.Instant
    ) async throws -> Page {
        var cursor = cursor
        if .now >= end { try await stampAll() }
        while true {
            let seen = changes.count
            let read = Read(cursor: cursor, filter: filter, changes: seen)
            // Readers at the same position share the query. None gets one that began before the last change.
            let page = try await reads.run(read) { try await self.page(read) }
            let isAnswer = !page.entries.isEmpty || page.reset || cursor?.isEmpty ?? true
            if isAnswer || .now >= end || Task.isShuttingDownGracefully { return page }
            cursor = page.cursor
            await changes.wait(after: seen, until: end)
        }
    }

    /// The cursor of a reader that has read everything that was committed.
    public func end() async throws -> String {
        try await stampAll()
        let rows = try await database.query(
            "SELECT seq, tag FROM \(unescaped: source.log) ORDER BY seq DESC LIMIT 1", usesReserve: true)
        guard let (number, tag) = try rows.first?.decode((Int64, Int64).self) else { return FeedCursor.nothing.text }
        return FeedCursor.after(number: number, tag: tag).text
    }

    /// Reads one page. Its statement sees the entry of the cursor, the entries after it and the newest one at the same
    /// moment, so that the next cursor passes over exactly what was read or filtered.
    private func page(_ read: Read) async throws -> Page {
        let isFirst = read.cursor?.isEmpty ?? true
        guard let position = isFirst ? .oldest : FeedCursor(text: read.cursor ?? "") else { return Self.reset }
        let log = source.log
        let rows = try await database.query(
            """
            SELECT own.tag AS own_tag, first.seq AS first, newest.seq AS newest, newest.tag AS newest_tag, entry.*
            FROM (SELECT) AS one
            LEFT JOIN (SELECT tag FROM \(unescaped: log) WHERE seq = \(position.number)) AS own ON true
            LEFT JOIN (SELECT seq FROM \(unescaped: log) WHERE \(position == .nothing) ORDER BY seq LIMIT 1) AS first ON true
            LEFT JOIN (SELECT seq, tag FROM \(unescaped: log) ORDER BY seq DESC LIMIT 1) AS newest ON true
            LEFT JOIN (
                SELECT seq, tag, \(unescaped: source.columns) FROM \(unescaped: log)
                WHERE seq > \(position.number) AND (\(unescaped: read.filter)) ORDER BY seq LIMIT \(pageSize)
            ) AS entry ON true
            ORDER BY entry.seq
            """, usesReserve: true)
        let first = rows[0]
        guard position.continues(where: try first.decode("own_tag"), first: try first.decode("first")) else {
            return Self.reset
        }
        let isEmpty = try first.decode("seq", as: Int64?.self) == nil
        let hasMore = rows.count == pageSize && !isEmpty
        var next = FeedCursor.nothing
        if hasMore {
            let last = rows[rows.count - 1]
            next = .after(number: try last.decode("seq"), tag: try last.decode("tag"))
        } else if let newest = try first.decode("newest", as: Int64?.self) {
            next = .after(number: newest, tag: try first.decode("newest_tag"))
        }
        return Page(
            entries: isEmpty ? [] : try rows.map(decode), cursor: next.text, reset: false, more: hasMore)
    }

    private static var reset: Page {
        Page(entries: [], cursor: FeedCursor.oldest.text, reset: true, more: true)
    }

    // MARK: - Stamping

    /// Stamps soon, because this process has committed an entry.
    public func wake() {
        additions.send()
    }

    /// Stamps entries and wakes readers until the service shuts down.
    public func run() async {
        await cancelWhenGracefulShutdown { await self.stampUntilCancelled() }
        // What the last requests have added.
        _ = try? await stamp()
    }

    private func stampUntilCancelled() async {
        var schedule = StampSchedule()
        var isFailing = false
        while !Task.isCancelled {
            let seen = additions.count
            let start = ContinuousClock.now
            let reach = schedule.reach(at: start)
            do {
                let stamped = try await stamp(within: reach)
                if reach == nil { schedule.lookedAtEverything(from: start, to: .now) }
                isFailing = false
                if stamped < Self.batch { await additions.wait(after: seen, until: .now + interval) }
            } catch {
                if Task.isCancelled { return }
                if !isFailing {
                    logger.warning(
                        "The entries of a feed could not be stamped; it is tried again.",
                        metadata: ["function": "\(source.stamp)", "error": "\(error)"])
                }
                isFailing = true
                try? await Task.sleep(for: interval)
            }
        }
    }

    private func stampAll() async throws(PostgresError) {
        while try await stamp() == Self.batch {}
    }

    /// Stamps one batch of pending entries, and wakes this process's readers if any process has stamped some.
    ///
    /// - Parameter reach: how far back to look for pending entries; `nil` for all.
    /// - Returns: the number of entries.
    @discardableResult
    public func stamp(within reach: Duration? = nil) async throws(PostgresError) -> Int {
        let rows = try await database.query(
            "SELECT stamped, head FROM \(unescaped: source.stamp)(\(reach.map { $0 / .seconds(1) }), \(Self.batch)::integer)",
            usesReserve: true)
        let (stamped, newest) = try rows[0].decode((Int, Int64?).self)
        let isNew = head.withLock { head in
            defer { head = newest }
            return head != newest
        }
        if isNew { changes.send() }
        return stamped
    }
}
