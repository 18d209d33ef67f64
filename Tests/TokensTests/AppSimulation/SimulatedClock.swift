import Foundation
import GatehouseClient
import Synchronization

/// The clocks of a device in a simulation: they move when an event comes, or when a caller sleeps.
final class SimulatedClock: SessionClock {
    /// When the simulations begin, by the true time.
    static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private let state = Mutex((seconds: 0.0, offset: 0.0))

    /// Seconds since the start, by the true time: the server's.
    var seconds: Double { state.withLock { $0.seconds } }

    var monotonic: Duration { .seconds(seconds) }

    var wall: Date { state.withLock { Self.start.addingTimeInterval($0.seconds + $0.offset) } }

    func advance(to second: Int) { state.withLock { $0.seconds = max($0.seconds, Double(second)) } }

    /// Sets what the device shows.
    func set(forward seconds: Int) { state.withLock { $0.offset += Double(seconds) } }

    func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration <= .seconds(2) else { return try await sleep(until: monotonic + duration) }
        state.withLock { $0.seconds += duration / .seconds(1) }
        await Task.yield()
    }

    /// A caller that waits for a time limit waits for something else, which wakes it.
    func sleep(until moment: Duration) async throws { try await Task.sleep(for: .seconds(3600)) }
}
