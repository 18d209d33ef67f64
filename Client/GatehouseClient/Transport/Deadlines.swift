import Foundation

/// Cancels exchanges that exceed their time limit. All exchanges have the same limit.
///
/// One task sleeps for all exchanges. A task and a timer per exchange would double this library's overhead per request.
final class Deadlines: Sendable {
    private struct State {
        var next = 0
        /// Keyed by the order in which they began, which is the order of their deadlines.
        var running: [Int: (deadline: Duration, expire: @Sendable () -> Void)] = [:]
        var sleeper: Task<Void, Never>?
    }

    private let limit: Duration
    private let clock: any SessionClock
    private let state = Locked(State())

    init(limit: Duration, clock: any SessionClock) {
        self.limit = limit
        self.clock = clock
    }

    deinit { state.withLock { $0.sleeper }?.cancel() }

    /// Calls `expire` when the time is up, unless ``end(_:)`` is called before.
    ///
    /// - Returns: the number to pass to ``end(_:)``.
    func begin(_ expire: @escaping @Sendable () -> Void) -> Int {
        let deadline = clock.monotonic + limit
        return state.withLock { state in
            state.next += 1
            state.running[state.next] = (deadline, expire)
            if state.sleeper == nil { state.sleeper = sleeper() }
            return state.next
        }
    }

    func end(_ number: Int) {
        state.withLock { _ = $0.running.removeValue(forKey: number) }
    }

    /// Holds `self` weakly, so that it does not keep the transport alive for a whole limit.
    private func sleeper() -> Task<Void, Never> {
        Task { [clock, weak self] in
            while let deadline = self?.nextDeadline() {
                try? await clock.sleep(until: deadline)
                self?.expireDue()
            }
        }
    }

    /// Returns `nil`, which ends the sleeper, if no exchange runs.
    private func nextDeadline() -> Duration? {
        state.withLock { state in
            guard let first = state.running.keys.min().flatMap({ state.running[$0] }) else {
                state.sleeper = nil
                return nil
            }
            return first.deadline
        }
    }

    private func expireDue() {
        let now = clock.monotonic
        let due = state.withLock { state in
            let due = state.running.filter { $0.value.deadline <= now }
            for number in due.keys { state.running[number] = nil }
            return due.values.map(\.expire)
        }
        for expire in due { expire() }
    }
}
