package import Foundation
package import GatehouseAccessTokens
package import GatehouseBytes
import Synchronization

/// The keys that access tokens are verified with, shared by all threads and replaced as a whole.
package final class IssuerKeys<Issuer: KeyIssuer>: Sendable {
    /// The keys of one issuer, and how long they are trusted.
    package struct Source: Sendable {
        /// `nil` until keys were read for the first time.
        package var verifier: Issuer.Verifier?
        /// After this second (since 1970) the keys are too old to trust.
        package var trustedUntil = Int64.max
        package var didLastFetchFail = false
        /// Changes when other keys replace the present ones.
        package var generation = 0

        // Called for every bearer token, by callers in other modules.
        @inlinable
        package func isUsable(now: Int64) -> Bool { verifier != nil && now <= trustedUntil }
    }

    /// A copy that an event loop uses until `version` changes.
    package struct Snapshot: Sendable {
        /// Changes with every change of the store.
        package var version = 0
        /// In the order of the issuers.
        package var sources: [Source]
    }

    /// The age of one issuer's keys in this store.
    package struct History: Sendable, Equatable {
        /// When they were read or fetched last.
        package var fetchedAt: Date?
        /// When each of the present keys was first seen, by its `kid`. The key itself may be older.
        package var seenSince: [String: Date] = [:]

        mutating func saw(_ keyIDs: [String], at time: Date) {
            fetchedAt = time
            let before = seenSince
            seenSince = keyIDs.reduce(into: [:]) { $0[$1] = before[$1] ?? time }
        }
    }

    /// What a demand for the keys of an unknown `kid` leads to.
    package enum Demand: Sendable {
        /// A fetch is in progress, whose end `onChange` will report.
        case isFetching
        /// A fetch has ended since the caller took its snapshot. The token is to be verified with a new one.
        case hasChanged
        /// No fetch, because the keys were demanded shortly before.
        case isTooEarly
    }

    private struct State {
        var snapshot: Snapshot
        var keys: [VerificationKeySet?]
        var history: [History]
        var isFetching: [Bool]
        /// Whether a request may wait for the fetch in progress.
        var isAwaited: [Bool]
        var lastDemands: [Int64?]
        var listeners: [@Sendable () -> Void] = []
    }

    /// Seconds between two fetches that unknown keys cause.
    package static var demandInterval: Int64 { 30 }

    /// Gatehouse itself, then the other trusted issuers.
    package let issuers: [Issuer]
    /// Seconds for which a token is accepted after its `exp`, and before its `nbf`.
    package let leeway: Int64
    private let state: Mutex<State>
    private let currentVersion = Atomic<Int>(0)
    private let demands: [(stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)]

    package init(issuers: [Issuer], leeway: Int64 = 0) {
        self.issuers = issuers
        self.leeway = leeway
        demands = issuers.map { _ in AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }
        state = Mutex(
            State(
                snapshot: Snapshot(sources: issuers.map { _ in Source() }), keys: issuers.map { _ in nil },
                history: issuers.map { _ in History() }, isFetching: issuers.map { _ in false },
                isAwaited: issuers.map { _ in false }, lastDemands: issuers.map { _ in nil }))
    }

    /// Gatehouse's own index, and those of `others`.
    package func indices(of others: Set<VerbatimString>) -> [Int] {
        issuers.indices.filter { $0 == 0 || others.contains(issuers[$0].issuer) }
    }

    /// The present version, without a lock.
    package var version: Int { currentVersion.load(ordering: .acquiring) }

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// In the order of the issuers.
    package var history: [History] { state.withLock { $0.history } }

    /// Whether tokens of Gatehouse itself can be verified.
    package func isUsable(now: Int64) -> Bool { snapshot.sources[0].isUsable(now: now) }

    /// Calls `listener` on any thread when the keys have changed, or when a fetch that `demandFetch` reported has
    /// ended. It is not called when the same keys were read again.
    package func onChange(_ listener: @escaping @Sendable () -> Void) {
        state.withLock { $0.listeners.append(listener) }
    }

    /// Stores keys that were read or fetched.
    ///
    /// - Parameter index: the issuer's, in `issuers`.
    package func replace(_ keys: VerificationKeySet, of index: Int = 0, trustedUntil: Int64 = .max)
        throws(AccessTokenError)
    {
        let verifier = try issuers[index].verifier(with: keys, leeway: leeway)
        fetchEnded(of: index) { state in
            state.snapshot.sources[index].trustedUntil = trustedUntil
            state.snapshot.sources[index].didLastFetchFail = false
            state.history[index].saw(keys.keyIDs, at: .now)
            guard state.keys[index] != keys else { return false }
            state.keys[index] = keys
            state.snapshot.sources[index].verifier = verifier
            state.snapshot.sources[index].generation += 1
            return true
        }
    }

    /// Records a failed fetch. The present keys stay.
    package func fetchFailed(of index: Int = 0) {
        fetchEnded(of: index) { state in
            state.snapshot.sources[index].didLastFetchFail = true
            return false
        }
    }

    /// Demands a fetch, because a token names an unknown key.
    ///
    /// - Parameters:
    ///   - indices: those of the issuers that may have the key.
    ///   - version: that of the snapshot which does not have the key. A fetch that ended since then may have brought
    ///     it.
    package func demandFetch(of indices: [Int] = [0], after version: Int, now: Int64) -> Demand {
        state.withLock { state in
            guard state.snapshot.version == version else { return .hasChanged }
            for index in indices where !state.isFetching[index] {
                if let last = state.lastDemands[index], now - last < Self.demandInterval { continue }
                state.lastDemands[index] = now
                state.isFetching[index] = true
                demands[index].continuation.yield()
            }
            for index in indices where state.isFetching[index] { state.isAwaited[index] = true }
            return indices.contains { state.isFetching[$0] } ? .isFetching : .isTooEarly
        }
    }

    /// Yields each time an issuer's keys are to be fetched.
    package func demanded(of index: Int) -> AsyncStream<Void> { demands[index].stream }

    /// Claims the next fetch; `false` when one is in progress.
    package func beginFetch(of index: Int = 0) -> Bool {
        state.withLock { state in
            defer { state.isFetching[index] = true }
            return !state.isFetching[index]
        }
    }

    /// - Parameter change: returns whether the keys have changed.
    private func fetchEnded(of index: Int, _ change: (inout State) -> Bool) {
        let listeners = state.withLock { state in
            let mustNotify = change(&state) || state.isAwaited[index]
            state.isFetching[index] = false
            state.isAwaited[index] = false
            state.snapshot.version += 1
            currentVersion.store(state.snapshot.version, ordering: .releasing)
            return mustNotify ? state.listeners : []
        }
        for listener in listeners { listener() }
    }
}
