import Foundation
import Synchronization

/// The addresses of one service's replicas, with their outstanding requests and recent failures.
final class Replicas: Sendable {
    private struct Replica {
        let base: String
        var outstanding = 0
        /// Until this time the replica is used only if no other is left.
        var asideUntil: ContinuousClock.Instant?
    }

    enum CallResult: Sendable {
        case succeeded
        case failed
        /// The caller ended the call, which says nothing about the replica.
        case cancelled
    }

    /// How long a replica is set aside after a failed call.
    static let aside = Duration.seconds(1)

    private let state: Mutex<[Replica]>

    init(_ urls: [URL]) {
        state = Mutex(
            urls.map { url in
                let text = url.absoluteString
                return Replica(base: text.hasSuffix("/") ? String(text.dropLast()) : text)
            })
    }

    var count: Int { state.withLock(\.count) }

    /// Chooses two replicas at random, and returns the one with fewer outstanding requests.
    ///
    /// - Parameter previous: the replica that has just failed; used only if no other is left.
    func acquire(avoiding previous: Int? = nil, now: ContinuousClock.Instant = .now) -> (index: Int, base: String)? {
        state.withLock { replicas in
            let others = replicas.indices.filter { $0 != previous }
            let healthy = others.filter { index in replicas[index].asideUntil.map { $0 <= now } ?? true }
            let candidates = !healthy.isEmpty ? healthy : !others.isEmpty ? others : Array(replicas.indices)
            guard let first = candidates.randomElement(), let second = candidates.randomElement() else { return nil }
            let index = replicas[first].outstanding <= replicas[second].outstanding ? first : second
            replicas[index].outstanding += 1
            return (index, replicas[index].base)
        }
    }

    /// The end of a call to the replica.
    func release(_ index: Int, _ result: CallResult, now: ContinuousClock.Instant = .now) {
        state.withLock { replicas in
            replicas[index].outstanding -= 1
            switch result {
            case .succeeded: replicas[index].asideUntil = nil
            case .failed: replicas[index].asideUntil = now.advanced(by: Self.aside)
            case .cancelled: break
            }
        }
    }
}
