import AccessToken
import Synchronization

/// The keys that access tokens are verified with, shared by all event loops and replaced as a whole.
final class KeyStore: Sendable {
    /// What an event loop keeps until `version` moves.
    struct Snapshot: Sendable {
        /// Moves with every change of the store.
        var version = 0
        /// Moves when other keys take the place of the present ones.
        var generation = 0
        var verifier: AccessTokenVerifier?
        /// After this second (since 1970) the keys are too old to trust.
        var trustedUntil = Int64.max
        var didLastFetchFail = false
    }

    private struct State {
        var snapshot = Snapshot()
        var keys: VerificationKeySet?
        var isFetching = false
        var lastDemand: Int64?
        var listeners: [@Sendable () -> Void] = []
    }

    /// Seconds between two fetches that unknown keys cause.
    static let demandInterval: Int64 = 30

    private let issuer: String
    private let audience: String
    /// Seconds for which a token is good after its `exp`, and before its `nbf`.
    let leeway: Int64
    private let state = Mutex(State())
    private let currentVersion = Atomic<Int>(0)
    private let demands: AsyncStream<Void>.Continuation
    /// Wakes who fetches keys.
    let demanded: AsyncStream<Void>

    init(issuer: String, audience: String, leeway: Int64 = 0) {
        self.issuer = issuer
        self.audience = audience
        self.leeway = leeway
        (demanded, demands) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The present version, without a lock.
    var version: Int { currentVersion.load(ordering: .acquiring) }

    var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// Whether tokens can be verified.
    func isUsable(now: Int64) -> Bool {
        let snapshot = snapshot
        return snapshot.verifier != nil && now <= snapshot.trustedUntil
    }

    /// Calls `listener` after each change, on any thread.
    func onChange(_ listener: @escaping @Sendable () -> Void) {
        state.withLock { $0.listeners.append(listener) }
    }

    /// Takes keys in that were read or fetched.
    func replace(_ keys: VerificationKeySet, trustedUntil: Int64 = .max) throws(AccessTokenError) {
        let verifier = try AccessTokenVerifier(issuer: issuer, audience: audience, keys: keys, leeway: leeway)
        change { state in
            if state.keys != keys {
                state.keys = keys
                state.snapshot.verifier = verifier
                state.snapshot.generation += 1
            }
            state.snapshot.trustedUntil = trustedUntil
            state.snapshot.didLastFetchFail = false
            state.isFetching = false
        }
    }

    /// A fetch has failed; the present keys stay.
    func fetchFailed() {
        change { state in
            state.snapshot.didLastFetchFail = true
            state.isFetching = false
        }
    }

    /// A token names a key that is not there. Asks for a fetch unless one was asked for a short while ago.
    ///
    /// - Returns: whether a fetch is under way, of which `onChange` will tell.
    func demandFetch(now: Int64) -> Bool {
        state.withLock { state in
            if state.isFetching { return true }
            if let last = state.lastDemand, now - last < Self.demandInterval { return false }
            state.lastDemand = now
            state.isFetching = true
            demands.yield()
            return true
        }
    }

    /// Claims the next fetch; `false` when one is under way.
    func beginFetch() -> Bool {
        state.withLock { state in
            defer { state.isFetching = true }
            return !state.isFetching
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let listeners = state.withLock { state in
            body(&state)
            state.snapshot.version += 1
            currentVersion.store(state.snapshot.version, ordering: .releasing)
            return state.listeners
        }
        for listener in listeners { listener() }
    }
}
