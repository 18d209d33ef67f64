import Foundation
import GatehouseLimits
import GatehouseServiceKit
public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization

/// A feed of committed rows for readers in other processes. Each reader gets every entry at least once.
///
/// A transaction adds its entries to a table of pending ones. After its commit, a sequencer moves them into the feed's
/// log under consecutive numbers: one replica at a time, so that an entry that commits late gets a later number, and a
/// reader that has read up to a number has missed nothing before it. PostgreSQL does so in one function (`stamp`),
/// which waits for no client while it holds the lock:
///
///     stamp(reach double precision, most integer,
///         OUT stamped bigint, OUT head bigint, OUT tag bigint, OUT cost double precision)
///
/// It moves at most `most` entries that were added within `reach` seconds, or any time before where `reach` is NULL.
/// The log has the columns `seq bigint PRIMARY KEY` and `tag bigint`, which is random, and always keeps its newest row.
public final class SequencedFeed: Service {
    /// What a reader gets of the feed.
    public struct View<Entry>: Sendable {
        var columns: String
        var condition: String
        var argument: String?
        var pageSize: Int
        var decode: @Sendable (PostgresRow) throws -> Entry

        /// - Parameters:
        ///   - columns: the columns of an entry. The feed adds `seq` and `tag`.
        ///   - condition: an SQL condition. The reader's cursor passes over entries that do not meet it.
        ///   - argument: what the condition calls `argument`.
        ///   - pageSize: the most entries of a page.
        ///   - decode: reads an entry, by the names of its columns.
        public init(
            columns: String, condition: String = "true", argument: String? = nil, pageSize: Int = 1000,
            decode: @escaping @Sendable (PostgresRow) throws -> Entry
        ) {
            self.columns = columns
            self.condition = condition
            self.argument = argument
            self.pageSize = pageSize
            self.decode = decode
        }
    }

    /// Some entries, and the cursor for the next page.
    public struct Page<Entry> {
        /// In the order of their numbers.
        public var entries: [Entry]
        /// The opaque cursor for the next page.
        public var cursor: String
        /// The given cursor's entry was purged, or belongs to another history: the reader must start over.
        public var reset: Bool
        /// More entries are available now.
        public var more: Bool
    }

    /// What the looks for pending entries saw of the log.
    private struct Looks {
        var begun = 0
        /// The newest look that has ended. Looks may end in another order than they began.
        var last = 0
        var endedAt: ContinuousClock.Instant?
        /// The newest entry.
        var head = FeedCursor.nothing
        /// Readers that wait for an entry.
        var readers = 0
        /// Whether the next look is ``SequencedFeed/rest`` after the last one, unless something wakes the sequencer.
        var isResting = false

        /// Whether a reader at this position has read everything. Unknown after two seconds without a look, so that a
        /// reader notices when PostgreSQL is unavailable.
        func isEnd(_ position: FeedCursor, at now: ContinuousClock.Instant) -> Bool {
            position == head && endedAt.map { now - $0 < .seconds(2) } ?? false
        }
    }

    private struct Read: Hashable {
        var position: FeedCursor
        var columns: String
        var condition: String
        var argument: String?
        var pageSize: Int
        var changes: Int
    }

    private let database: PostgresPool
    private let log: String
    private let function: String
    private let interval: Duration
    private let rest: Duration
    private let sequencesAtOnce: Bool
    private let logger: Logger
    /// Entries that this process has added.
    private let additions = Signal()
    /// Entries that any process has sequenced.
    private let changes = Signal()
    private let looks = Mutex(Looks())
    private let reads = SingleFlight<Read, PostgresResult>()

    /// The cursor of a reader that needs no earlier entries.
    public static let latest = "latest"
    /// The usual time between two looks while no reader waits. Entries of replicas that died then wait for so long, or
    /// until a reader comes.
    public static let rest = Duration.seconds(5)
    /// The shortest time between two looks of ``run()``, unless one has found a whole batch. Each costs a transaction,
    /// and an answer to every reader.
    private static let shortestInterval = Duration.milliseconds(100)
    /// Entries that one call sequences at most.
    private static let batch = 1000
    /// Entries that one page looks at most.
    private static let mostLookedAt = 100_000

    /// - Parameters:
    ///   - log: the log's table, or a subquery over it.
    ///   - function: the name of the function that sequences entries.
    ///   - interval: how often pending entries of other replicas are looked for while a reader waits.
    ///   - rest: how often they are looked for while no reader waits.
    ///   - sequencesAtOnce: whether this process's own entries are sequenced without a wait for the next look, up to
    ///     ten times a second. Otherwise those of an interval are sequenced together, which costs PostgreSQL less.
    public init(
        log: String, function: String, database: PostgresPool, interval: Duration, rest: Duration = SequencedFeed.rest,
        sequencesAtOnce: Bool, logger: Logger
    ) {
        self.log = log
        self.function = function
        self.database = database
        self.interval = interval
        self.rest = rest
        self.sequencesAtOnce = sequencesAtOnce
        self.logger = logger
    }

    // MARK: - Reading

    /// The entries after `cursor`. If none exist yet, waits for entries until `end`. A reader that does not wait misses
    /// nothing that was added and committed within ``SequencingSchedule/recent``.
    ///
    /// - Parameter cursor: the cursor of an earlier page. `nil` or empty begins with the oldest entry, ``latest`` at
    ///   the end.
    public func page<Entry>(
        _ view: View<Entry>, after cursor: String?, waitingUntil end: ContinuousClock.Instant
    ) async throws -> Page<Entry> {
        if cursor == Self.latest { return Page(entries: [], cursor: try await self.end(), reset: false, more: false) }
        let isFirst = cursor?.isEmpty ?? true
        guard var position = isFirst ? .oldest : FeedCursor(text: cursor ?? "") else { return Self.reset() }
        if .now >= end { try await sequenceRecent() }
        while true {
            let seen = changes.count
            // Most readers have read everything, and need no query.
            if looks.withLock({ $0.isEnd(position, at: .now) }), !isFirst {
                if .now >= end || Task.isShuttingDownGracefully {
                    return Page(entries: [], cursor: position.text, reset: false, more: false)
                }
                await waitAsReader(after: seen, until: end)
                continue
            }
            let read = Read(
                position: position, columns: view.columns, condition: view.condition, argument: view.argument,
                pageSize: view.pageSize, changes: seen)
            // Readers at the same position share the query. None gets one that began before the last change.
            let rows = try await reads.run(read) { try await self.rows(read) }
            guard try position.continues(where: rows[0].decode("own_tag"), first: rows[0].decode("first")) else {
                return Self.reset()
            }
            let page = try Self.page(of: rows, after: position, view)
            let isAnswer = !page.entries.isEmpty || page.more || isFirst
            if isAnswer || .now >= end || Task.isShuttingDownGracefully { return page }
            position = FeedCursor(text: page.cursor) ?? position
            await waitAsReader(after: seen, until: end)
        }
    }

    /// Waits for a change of the log. While a reader waits, this process looks every ``interval``.
    private func waitAsReader(after seen: Int, until end: ContinuousClock.Instant) async {
        let isResting = looks.withLock { looks in
            looks.readers += 1
            return looks.isResting
        }
        defer { looks.withLock { $0.readers -= 1 } }
        if isResting { additions.send() }
        await changes.wait(after: seen, until: end)
    }

    /// Whether no reader waits, and the next look comes after the rest or a wake-up.
    package var isResting: Bool { looks.withLock(\.isResting) }

    /// How many changes of the log this process has noticed.
    public var changeCount: Int { changes.count }

    /// Waits for a change after the first `count`, until `end` at most. Unlike a reader it causes no looks.
    public func waitForChange(after count: Int, until end: ContinuousClock.Instant) async {
        await changes.wait(after: count, until: end)
    }

    /// The cursor of a reader that has read everything that was added and committed within
    /// ``SequencingSchedule/recent``.
    private func end() async throws -> String {
        try await sequenceRecent()
        let rows = try await database.query(
            "SELECT seq, tag FROM \(unescaped: log) ORDER BY seq DESC LIMIT 1", usesReserve: true)
        guard let (number, tag) = try rows.first?.decode((Int64, Int64).self) else { return FeedCursor.nothing.text }
        return FeedCursor.after(number: number, tag: tag).text
    }

    /// Reads the entries of a page. The statement sees the entry of the cursor, the entries after it and the newest one
    /// at the same moment, so that the next cursor passes over exactly what was read or filtered. It looks at a bounded
    /// number of entries, however few of them the reader gets.
    private func rows(_ read: Read) async throws -> PostgresResult {
        let number = read.position.number
        return try await database.query(
            """
            WITH range AS MATERIALIZED (
                SELECT seq - 1 AS start, seq - 1 + \(Self.mostLookedAt) AS bound
                FROM \(unescaped: log) WHERE seq > \(number) ORDER BY seq LIMIT 1
            )
            SELECT own.tag AS own_tag, first.seq AS first, newest.seq AS newest, last.seq AS last, last.tag AS last_tag,
                entry.*
            FROM (SELECT) AS one
            LEFT JOIN (SELECT tag FROM \(unescaped: log) WHERE seq = \(number)) AS own ON true
            LEFT JOIN (
                SELECT seq FROM \(unescaped: log) WHERE \(read.position == .nothing) ORDER BY seq LIMIT 1
            ) AS first ON true
            LEFT JOIN (SELECT seq FROM \(unescaped: log) ORDER BY seq DESC LIMIT 1) AS newest ON true
            LEFT JOIN (
                SELECT seq, tag FROM \(unescaped: log)
                WHERE seq > (SELECT start FROM range) AND seq <= (SELECT bound FROM range) ORDER BY seq DESC LIMIT 1
            ) AS last ON true
            LEFT JOIN (
                SELECT seq, tag, \(unescaped: read.columns) FROM (
                    -- In the order of the index, and only as far as the page needs.
                    SELECT *, \(unescaped: read.condition) AS is_wanted
                    FROM \(unescaped: log), (SELECT \(read.argument)::text AS argument) AS bound
                    WHERE seq > (SELECT start FROM range) ORDER BY seq LIMIT \(Self.mostLookedAt)
                ) AS looked
                WHERE is_wanted AND seq <= (SELECT bound FROM range) LIMIT \(read.pageSize)
            ) AS entry ON true
            ORDER BY entry.seq
            """, usesReserve: true)
    }

    /// - Parameter rows: at least one; without entries, `seq` is NULL in it.
    private static func page<Entry>(
        of rows: PostgresResult, after position: FeedCursor, _ view: View<Entry>
    ) throws -> Page<Entry> {
        let (first, last) = (rows[0], rows[rows.count - 1])
        let isEmpty = try first.decode("seq", as: Int64?.self) == nil
        var next = position == .oldest ? .nothing : position
        if rows.count == view.pageSize, !isEmpty {
            next = .after(number: try last.decode("seq"), tag: try last.decode("tag"))
        } else if let number = try first.decode("last", as: Int64?.self) {
            next = .after(number: number, tag: try first.decode("last_tag"))
        }
        let newest = try first.decode("newest", as: Int64?.self) ?? 0
        return Page(
            entries: isEmpty ? [] : try rows.map(view.decode), cursor: next.text, reset: false,
            more: next.number < newest)
    }

    private static func reset<Entry>() -> Page<Entry> {
        Page(entries: [], cursor: FeedCursor.oldest.text, reset: true, more: true)
    }

    // MARK: - Sequencing

    /// Sequences entries soon, because this process may have committed some.
    public func wake() {
        additions.send()
    }

    /// Sequences entries and wakes readers until the service shuts down.
    public func run() async {
        await cancelWhenGracefulShutdown { await self.sequenceUntilCancelled() }
        // What the last requests have added.
        _ = try? await sequence()
    }

    private func sequenceUntilCancelled() async {
        var schedule = SequencingSchedule()
        var reach: Duration?
        await Periodic(every: .zero, backoff: Backoff(base: interval, maximum: interval)).run {
            let seen = additions.count
            let start = ContinuousClock.now
            reach = schedule.reach(at: start)
            let look = try await look(within: reach)
            let isDrained = look.sequenced < Self.batch
            schedule.looked(within: reach, cost: look.cost, isDrained: isDrained, at: .now)
            if isDrained { await pause(since: start, after: seen) }
            return .now
        } onFailure: { error, isFirst in
            schedule.failed(within: reach, at: .now)
            guard isFirst else { return }
            looks.withLock { $0.endedAt = nil }
            changes.send()
            logger.warning(
                "The entries of a feed could not be sequenced; it is tried again.",
                metadata: ["function": "\(function)", "error": "\(error)"])
        }
    }

    /// Waits for the time of the next look.
    ///
    /// - Parameters:
    ///   - start: when the last look began.
    ///   - seen: the additions before it.
    private func pause(since start: ContinuousClock.Instant, after seen: Int) async {
        if sequencesAtOnce {
            await additions.wait(after: seen, until: start + interval)
            try? await Task.sleep(until: start + Self.shortestInterval)
        } else {
            try? await Task.sleep(until: start + interval)
        }
        let isResting = looks.withLock { looks in
            looks.isResting = looks.readers == 0
            return looks.isResting
        }
        guard isResting else { return }
        await additions.wait(after: seen, until: start + rest)
        looks.withLock { $0.isResting = false }
    }

    private func sequenceRecent() async throws(PostgresError) {
        while try await sequence(within: SequencingSchedule.recent) == Self.batch {}
    }

    /// Sequences one batch of pending entries, and wakes this process's readers if any process has sequenced some.
    ///
    /// - Parameter reach: how far back to look for pending entries; `nil` for all.
    /// - Returns: the number of entries.
    @discardableResult
    public func sequence(within reach: Duration? = nil) async throws(PostgresError) -> Int {
        try await look(within: reach).sequenced
    }

    private func look(within reach: Duration?) async throws(PostgresError) -> (sequenced: Int, cost: Duration) {
        let number = looks.withLock { looks in
            looks.begun += 1
            return looks.begun
        }
        let rows = try await database.query(
            """
            SELECT stamped, head, tag, cost
            FROM \(unescaped: function)(\(reach.map { $0 / .seconds(1) }), \(Self.batch)::integer)
            """, usesReserve: true)
        let (sequenced, seq, tag, cost) = try rows[0].decode((Int, Int64?, Int64?, Double).self)
        let head = seq.map { FeedCursor.after(number: $0, tag: tag ?? 0) } ?? .nothing
        looks.withLock { looks in
            guard number > looks.last else { return }
            // A reader that sees the new head also sees the change.
            if looks.head != head { changes.send() }
            (looks.last, looks.endedAt, looks.head) = (number, .now, head)
        }
        return (sequenced, .seconds(cost))
    }
}
