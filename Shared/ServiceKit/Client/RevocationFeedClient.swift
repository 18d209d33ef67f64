public import Contracts
public import Foundation
import HTTPTypes
public import Instruments

extension ServiceClient {
    /// The page of tokens' revocation feed that follows `cursor`; `nil` begins with the oldest entry.
    ///
    /// A long poll: tokens answers at once when there is something to tell. It is made once, since a second attempt
    /// would halve the time of the first, and whoever follows the feed asks again anyway.
    ///
    /// - Parameter seconds: how long tokens may wait; the answer is there 2 s later at the latest.
    public func revocations(
        after cursor: String?, waiting seconds: Int
    ) async throws(ServiceClientError) -> RevocationPage {
        let patience = Duration.seconds(seconds + 2)
        var query = [("wait", String(seconds))]
        if let cursor { query.append(("after", cursor)) }
        return try await send(
            .get, "/internal/revocations", query: query, deadline: .after(patience), timeout: patience,
            idempotent: false)
    }
}

/// Follows tokens' revocation feed until the task is cancelled: reads page after page, and pauses after a failure, for
/// longer each time and with jitter, so that replicas do not return together.
///
/// - Parameters:
///   - pauses: seconds to pause after the first failure, and at most after further ones.
///   - readPage: reads a page and applies it; waits where the feed has nothing new.
///   - onFailure: called before each pause; `isFirst` after a page that was read.
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

/// What a reader of tokens' revocation feed tells of itself: whether it reads at all, when it was last at the feed's
/// end, and how long after its revocation it hears of a session.
///
/// The time of the last reading and not its age: whoever looks computes the age, also of a reader that has stopped
/// telling anything.
public struct RevocationFeedMetrics: Sendable {
    private let isLost: Gauge
    private let readAt: Gauge
    private let delay: DurationHistogram
    /// Whether it has been at the feed's end. What it reads before is history.
    private var isFollowing = false

    /// - Parameters:
    ///   - isLost: 1 while the feed cannot be read, else 0.
    ///   - readAt: when the feed was last read to its end, in seconds since 1970; from now on until then, when the reader
    ///     began.
    ///   - delay: from a session's revocation until the reader knew of it.
    public init(isLost: Gauge, readAt: Gauge, delay: DurationHistogram, now: Date = .now) {
        self.isLost = isLost
        self.readAt = readAt
        self.delay = delay
        readAt.set(now.timeIntervalSince1970)
    }

    /// A page was read, and what it tells was done.
    public mutating func read(_ page: RevocationPage, now: Date = .now) {
        isLost.set(0)
        if page.reset { isFollowing = false }
        if isFollowing {
            for entry in page.entries {
                // Without its age, by two clocks: PostgreSQL's may be ahead.
                delay.record(.seconds(max(0, entry.age ?? now.timeIntervalSince(entry.revokedAt))))
            }
        }
        guard !page.more else { return }
        isFollowing = true
        readAt.set(now.timeIntervalSince1970)
    }

    /// The feed could not be read.
    public func failed() {
        isLost.set(1)
    }
}
