import Foundation
import Synchronization

/// The sessions that were revoked and whose access tokens may still live, as the revocation feed told.
///
/// Every event loop asks it for every bearer: a lock that is held for one look-up.
final class RevokedSessions: Sendable {
    enum Verdict: Equatable {
        case live
        case revoked
        /// The feed was never read whole, or was lost for too long: nobody can say.
        case unknown
    }

    private struct State {
        /// When the session's last access token expires, in seconds since 1970.
        var expiry: [UUID: Int64] = [:]
        /// The last moment at which the feed was known to be read to its end, in seconds since 1970.
        var currentAt: Int64?
        var purgeAt: Int64 = 0
    }

    /// Seconds between two rounds in which sessions are forgotten whose access tokens are all dead.
    private static let purgeInterval: Int64 = 60

    private let state = Mutex(State())
    /// Seconds for which the last known state is trusted once the feed is lost.
    private let maximumStaleness: Int64

    init(maximumStaleness: Int64) { self.maximumStaleness = maximumStaleness }

    /// - Parameter now: seconds since 1970.
    func verdict(on session: UUID, now: Int64) -> Verdict {
        state.withLock { state in
            guard let currentAt = state.currentAt, now - currentAt <= maximumStaleness else { return .unknown }
            return state.expiry[session] == nil ? .live : .revoked
        }
    }

    /// Whether bearers can be judged at all.
    func isUsable(now: Int64) -> Bool {
        state.withLock { state in state.currentAt.map { now - $0 <= maximumStaleness } ?? false }
    }

    /// Takes a page of the feed in.
    ///
    /// - Parameters:
    ///   - isEnd: whether nothing more waited behind the page.
    func apply(_ entries: [(session: UUID, expiresAt: Int64)], isEnd: Bool, now: Int64) {
        state.withLock { state in
            for entry in entries where entry.expiresAt >= now {
                state.expiry[entry.session] = max(entry.expiresAt, state.expiry[entry.session] ?? 0)
            }
            if isEnd { state.currentAt = now }
            if now >= state.purgeAt {
                state.expiry = state.expiry.filter { $0.value >= now }
                state.purgeAt = now + Self.purgeInterval
            }
        }
    }

    var count: Int { state.withLock { $0.expiry.count } }
}
