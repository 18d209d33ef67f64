package import Foundation
package import GatehouseInstruments
import GatehouseLimits
package import GatehouseServiceContracts
package import GatehouseServiceKit
package import Logging
import ServiceLifecycle
import Synchronization

/// The sessions from the revocation feed that may still have access tokens.
///
/// All threads query it for every bearer token. A query holds the lock for one lookup.
package final class RevokedSessions: Sendable {
    package enum Status: Equatable {
        case live
        case revoked
        /// The feed was never read to its end, or was lost for too long.
        case unknown
    }

    private struct State {
        /// Until when the session's last access token could be accepted, in seconds since 1970.
        var expiry: [UUID: Int64] = [:]
        /// Whether the feed was ever read to its end.
        var isWhole = false
        /// Since when the feed can't be read, in seconds since 1970; `nil` while it is followed.
        var lostAt: Int64?
        /// When the feed was last read to its end.
        var readAt: Int64?
        var purgeAt: Int64 = 0
    }

    /// Seconds between two removals of sessions whose access tokens have all expired.
    private static let purgeInterval: Int64 = 60

    private let state = Mutex(State())
    /// Seconds for which the last known state is trusted once the feed is lost.
    private let maximumStaleness: Int64

    /// Seconds for which tokens are accepted after their `exp`. An entry is kept that much longer.
    private let leeway: Int64

    /// - Parameters:
    ///   - maximumStaleness: seconds for which the last known state is trusted once the feed is lost.
    ///   - leeway: seconds for which tokens are accepted after their `exp`.
    package init(maximumStaleness: Int64, leeway: Int64 = 0) {
        self.maximumStaleness = maximumStaleness
        self.leeway = leeway
    }

    /// - Parameter now: seconds since 1970.
    package func status(of session: UUID, now: Int64) -> Status {
        state.withLock { state in
            guard isUsable(state, now: now) else { return .unknown }
            return state.expiry[session] == nil ? .live : .revoked
        }
    }

    /// Whether bearer tokens can be checked for revocation.
    package func isUsable(now: Int64) -> Bool {
        state.withLock { isUsable($0, now: now) }
    }

    /// Without revocations the feed has no entries, so the age of the last entry does not matter. Only its loss does.
    private func isUsable(_ state: State, now: Int64) -> Bool {
        state.isWhole && state.lostAt.map { now - $0 <= maximumStaleness } ?? true
    }

    /// Records that the feed did not respond. The known state is trusted for `maximumStaleness` after the first loss.
    package func feedIsLost(now: Int64) {
        state.withLock { state in
            if state.lostAt == nil { state.lostAt = now }
        }
    }

    /// Applies a page of the feed. Only the feed's follower calls this, with one page after another.
    ///
    /// - Parameters:
    ///   - isEnd: whether the page was the last one available.
    package func apply(_ entries: [(session: UUID, expiresAt: Int64)], isEnd: Bool, now: Int64) {
        let isPurgeDue = state.withLock { state in
            for entry in entries where entry.expiresAt + leeway >= now {
                state.expiry[entry.session] = max(entry.expiresAt + leeway, state.expiry[entry.session] ?? 0)
            }
            if isEnd {
                state.isWhole = true
                state.lostAt = nil
                state.readAt = now
            }
            guard now >= state.purgeAt else { return false }
            state.purgeAt = now + Self.purgeInterval
            return true
        }
        if isPurgeDue { purge(now: now) }
    }

    /// Finds expired entries outside the lock, so that no event loop waits while a hundred thousand are checked.
    private func purge(now: Int64) {
        let expiry = state.withLock { $0.expiry }
        let live = expiry.filter { $0.value >= now }
        state.withLock { $0.expiry = live }
    }

    /// When the feed was last read to its end, and since when it cannot be read; seconds since 1970.
    package var feed: (readAt: Int64?, lostAt: Int64?) { state.withLock { ($0.readAt, $0.lostAt) } }

    package var count: Int { state.withLock { $0.expiry.count } }
}

/// Follows the revocation feed of tokens by long polling, so that access tokens end with their session.
package struct RevocationFeedReader: Service {
    /// Seconds that one poll may stay open. A replica of tokens that is stopped, and keeps its connections, hides
    /// revocations for so long and two seconds more.
    package static let wait = 5

    private let sessions: RevokedSessions
    private let logger: Logger
    /// Reads the page after a cursor; `nil` starts from the beginning. It must time out 2 s after `wait` at the latest.
    private let fetch: @Sendable (_ cursor: String?, _ wait: Int) async throws -> AccessRevocationPage

    /// The pauses after failures.
    var backoff = Backoff(base: .milliseconds(100), maximum: .seconds(1))

    private let metrics: RevocationFeedMetrics
    private let live: Gauge

    /// - Parameters:
    ///   - metrics: the metrics of the reader.
    ///   - live: the number of known sessions that may still have access tokens.
    ///   - fetch: reads the page after a cursor.
    package init(
        sessions: RevokedSessions, metrics: RevocationFeedMetrics, live: Gauge, logger: Logger,
        fetch: @escaping @Sendable (_ cursor: String?, _ wait: Int) async throws -> AccessRevocationPage
    ) {
        self.sessions = sessions
        self.metrics = metrics
        self.live = live
        self.logger = logger
        self.fetch = fetch
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            var cursor: String?
            await RevocationFeedFollower(backoff: backoff, metrics: metrics, logger: logger).follow { mayWait in
                let page = try await fetch(cursor, mayWait ? Self.wait : 0)
                guard let entries = page.entries else { throw UnreadablePage() }
                apply(entries, isEnd: !page.more)
                cursor = page.cursor
                return .read(ages: entries.map(\.age), reset: page.reset, more: page.more)
            } onFailure: { _ in
                sessions.feedIsLost(now: Int64(Date.now.timeIntervalSince1970))
            }
        }
    }

    /// The page's sessions are in another form.
    struct UnreadablePage: Error {}

    /// A page with `reset` restarts the feed. The known revocations stay, because a revocation is never undone, and
    /// each is removed after its tokens have expired.
    private func apply(_ entries: [AccessRevocationPage.Entry], isEnd: Bool) {
        let now = Int64(Date.now.timeIntervalSince1970)
        sessions.apply(entries.map { ($0.sessionID, $0.accessExpiresAt) }, isEnd: isEnd, now: now)
        live.set(sessions.count)
    }
}
