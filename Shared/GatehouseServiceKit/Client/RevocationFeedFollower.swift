public import Foundation
public import GatehouseInstruments
public import GatehouseLimits
public import GatehouseServiceContracts
public import Logging

/// Follows tokens' revocation feed: reads page after page until the task is cancelled, and pauses after failures.
///
/// The reader keeps the position, because one reader keeps it in memory, and another in PostgreSQL.
public struct RevocationFeedFollower: Sendable {
    /// What a reader did.
    public enum Progress: Sendable {
        /// It read a page and applied it.
        ///
        /// - Parameters:
        ///   - ages: of the page's entries, in seconds.
        ///   - reset: whether the feed begins anew.
        ///   - more: whether more entries are available now.
        case read(ages: [Double], reset: Bool, more: Bool)
        /// It may not read now, because another replica does, and tries again after a pause.
        case paused(Duration)

        /// A page that was read and applied.
        public static func read(_ page: RevocationPage, now: Date = .now) -> Progress {
            // An entry without an age is measured by two clocks, and PostgreSQL's may be ahead.
            let ages = page.entries.map { max(0, $0.age ?? now.timeIntervalSince($0.revokedAt)) }
            return .read(ages: ages, reset: page.reset, more: page.more)
        }
    }

    private let backoff: Backoff
    private let metrics: RevocationFeedMetrics
    private let logger: Logger

    /// - Parameters:
    ///   - backoff: the pauses after failures.
    ///   - metrics: of this reader.
    public init(backoff: Backoff, metrics: RevocationFeedMetrics, logger: Logger) {
        (self.backoff, self.metrics, self.logger) = (backoff, metrics, logger)
    }

    /// Follows the feed until the task is cancelled.
    ///
    /// - Parameters:
    ///   - readPage: reads the page after the reader's position, and applies it. `mayWait`: it may wait for new
    ///     entries. Otherwise it must not, because entries from before or from the time of a failure must arrive at
    ///     once.
    ///   - onFailure: called after each failure.
    public func follow(
        readPage: (_ mayWait: Bool) async throws -> Progress,
        onFailure: (_ error: any Error) async -> Void = { _ in }
    ) async {
        var metrics = metrics
        var mayWait = false
        var isLost = false
        await Periodic(every: .zero, backoff: backoff).run {
            switch try await readPage(mayWait) {
            case .paused(let pause): return .after(pause)
            case .read(let ages, let reset, let more):
                metrics.read(ages: ages, reset: reset, more: more)
                if isLost { logger.notice("following the revocation feed again") }
                isLost = false
                mayWait = !more
                return .now
            }
        } onFailure: { error, isFirst in
            if isFirst { logger.warning("lost the revocation feed", metadata: ["error": "\(error)"]) }
            isLost = true
            mayWait = false
            metrics.failed()
            await onFailure(error)
        }
    }
}

/// The metrics of a reader of tokens' revocation feed: whether it can read, when it last reached the feed's end, and
/// the delay from a session's revocation.
///
/// `readAt` is the time of the last read, not its age, so that monitoring can compute the age even if the reader has
/// stopped.
public struct RevocationFeedMetrics: Sendable {
    private let isLost: Gauge
    private let readAt: Gauge
    private let delay: DurationHistogram
    /// Whether the reader has reached the feed's end. Entries before that are history, and their delay is not measured.
    private var isFollowing = false
    /// In seconds: a month. A feed's entries are younger, and `Duration` holds no number of any size.
    private static let greatestAge = 2_592_000.0

    /// - Parameters:
    ///   - isLost: 1 while the feed cannot be read, else 0.
    ///   - readAt: when the feed was last read to its end, in seconds since 1970. Before the first time, the start of
    ///     the reader.
    ///   - delay: the time from a session's revocation until the reader received it.
    public init(isLost: Gauge, readAt: Gauge, delay: DurationHistogram, now: Date = .now) {
        self.isLost = isLost
        self.readAt = readAt
        self.delay = delay
        readAt.set(now.timeIntervalSince1970)
    }

    /// Records that a page was read and applied.
    ///
    /// - Parameter ages: of the page's entries, in seconds.
    public mutating func read(ages: some Sequence<Double>, reset: Bool, more: Bool, now: Date = .now) {
        isLost.set(0)
        if reset { isFollowing = false }
        if isFollowing {
            for age in ages { delay.record(.seconds(min(max(0, age), Self.greatestAge))) }
        }
        guard !more else { return }
        isFollowing = true
        readAt.set(now.timeIntervalSince1970)
    }

    /// Records that the feed could not be read.
    public func failed() {
        isLost.set(1)
    }
}
