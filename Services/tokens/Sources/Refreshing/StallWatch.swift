import Foundation
import ServiceLifecycle
import Synchronization

/// Notices when this process as a whole stood still: stopped, or its machine suspended. Requests went on waiting in its
/// sockets, and when they are read at last they are older than they look.
final class StallWatch: Service {
    typealias Instant = ContinuousClock.Instant

    /// Between two looks at the clock.
    static let interval = Duration.milliseconds(200)
    /// How long it may take to read what has waited.
    static let backlog = Duration.seconds(1)

    private struct State {
        var lastBeat: Instant?
        var lastStall: Range<Instant>?
    }

    /// A busy machine makes everybody late by less.
    private let shortest: Duration
    private let state = Mutex(State())

    /// - Parameter raceWindow: seconds. It forgives what is shorter than itself, so the longer half is left to see.
    init(raceWindow: TimeInterval) {
        shortest = .seconds(max(raceWindow / 2, 1))
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                self.beat(at: .now)
                try? await Task.sleep(for: Self.interval)
            }
        }
        // Requests in flight are still served, and nobody looks at the clock for them.
        state.withLock { $0.lastBeat = nil }
    }

    func beat(at now: Instant) {
        state.withLock { state in
            if let last = state.lastBeat, now - last > shortest { state.lastStall = last..<now }
            state.lastBeat = now
        }
    }

    /// The earliest at which a request that was read at `instant` can have come.
    func arrival(ofReadAt instant: Instant) -> Instant {
        state.withLock { state in
            if let stall = state.lastStall, instant > stall.lowerBound, instant < stall.upperBound + Self.backlog {
                return stall.lowerBound
            }
            // Read before the first look after a stall.
            if let last = state.lastBeat, instant - last > shortest { return last }
            return instant
        }
    }
}
