import Foundation
import GatehouseClient
import Synchronization

/// The system's clocks, set forward by a test. Short pauses, as between attempts, end at once.
final class SteeredClock: SessionClock {
    private let offset = Mutex(Duration.zero)
    private let system = SystemClock()

    var monotonic: Duration { system.monotonic + offset.withLock { $0 } }

    var wall: Date { system.wall.addingTimeInterval(offset.withLock { $0 } / .seconds(1)) }

    /// Time passes.
    func advance(by duration: Duration) { offset.withLock { $0 += duration } }

    func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        if duration <= .seconds(2) { return await Task.yield() }
        try await Task.sleep(for: duration)
    }

    func sleep(until moment: Duration) async throws { try await Task.sleep(for: max(moment - monotonic, .zero)) }
}
