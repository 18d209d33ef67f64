public import Contracts
public import Foundation
import HTTPTypes
public import Instruments

extension ServiceClient {
    /// The page of tokens' revocation feed that follows `cursor`; `nil` begins with the oldest entry.
    ///
    /// A long poll: tokens answers as soon as the feed has entries. The call is not retried: a second attempt would
    /// halve the time of the first, and a reader that follows the feed calls again anyway.
    ///
    /// - Parameter seconds: how long tokens may wait. The response arrives at most 2 s later.
    public func revocations(
        after cursor: String?, waiting seconds: Int
    ) async throws(ServiceClientError) -> RevocationPage {
        try await revocations(after: cursor, waiting: seconds, form: [])
    }

    /// The same for a verifier of access tokens.
    public func accessRevocations(
        after cursor: String?, waiting seconds: Int
    ) async throws(ServiceClientError) -> AccessRevocationPage {
        try await revocations(after: cursor, waiting: seconds, form: [("form", "access")])
    }

    private func revocations<Page: Decodable>(
        after cursor: String?, waiting seconds: Int, form: [(String, String)]
    ) async throws(ServiceClientError) -> Page {
        var query = [("wait", String(seconds))] + form
        if let cursor { query.append(("after", cursor)) }
        return try await send(
            .get, "/internal/revocations", query: query, timeout: .seconds(seconds + 2), idempotent: false)
    }
}

extension ServiceClient {
    /// Those of at most ``LiveSessions/most`` sessions that have not ended, and when they will.
    public func liveSessions(
        among ids: [UUID], timeout: Duration? = nil
    ) async throws(ServiceClientError) -> LiveSessions {
        try await send(
            .post, "/internal/sessions/live", body: LiveSessions(ids), timeout: timeout, idempotent: true)
    }
}

/// Follows tokens' revocation feed until the task is cancelled: reads page after page, and pauses after a failure, for
/// longer each time and with jitter, so that replicas do not retry together.
///
/// - Parameters:
///   - pauses: seconds to pause after the first failure, and the maximum after further failures.
///   - readPage: reads a page and applies it. It waits while the feed has no new entries.
///   - onFailure: called before each pause. `isFirst` is true after a page that was read.
public func followRevocations(
    pauses: ClosedRange<Double>, readPage: () async throws -> Void,
    onFailure: (_ error: any Error, _ isFirst: Bool) async -> Void
) async {
    var pause = pauses.lowerBound
    while !Task.isCancelled {
        do {
            try await readPage()
            pause = pauses.lowerBound
        } catch {
            if Task.isCancelled { return }
            await onFailure(error, pause == pauses.lowerBound)
            try? await Task.sleep(for: .seconds(pause * Double.random(in: 0.5...1)))
            pause = min(pause * 2, pauses.upperBound)
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
    public mutating func read(_ page: RevocationPage, now: Date = .now) {
        // An entry without an age is measured by two clocks, and PostgreSQL's may be ahead.
        let ages = page.entries.lazy.map { max(0, $0.age ?? now.timeIntervalSince($0.revokedAt)) }
        read(ages: ages, reset: page.reset, more: page.more, now: now)
    }

    /// Records that a page was read and applied.
    ///
    /// - Parameter ages: of the page's entries, in seconds.
    public mutating func read(ages: some Sequence<Double>, reset: Bool, more: Bool, now: Date = .now) {
        isLost.set(0)
        if reset { isFollowing = false }
        if isFollowing {
            for age in ages { delay.record(.seconds(age)) }
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
