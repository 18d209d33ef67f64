import Foundation
import GatehouseClient
import Synchronization

/// The system's clocks, set forward by a test. Short pauses, as between attempts, end at once.
final class SteeredClock: SessionClock {
    private let offsets = Mutex((monotonic: Duration.zero, wall: TimeInterval.zero))
    private let system = SystemClock()

    var monotonic: Duration { system.monotonic + offsets.withLock { $0.monotonic } }

    var wall: Date { system.wall.addingTimeInterval(offsets.withLock { $0.wall }) }

    /// Time passes.
    func advance(by duration: Duration) {
        offsets.withLock { offsets in
            offsets.monotonic += duration
            offsets.wall += duration / .seconds(1)
        }
    }

    /// Somebody sets the device's clock.
    func jump(by seconds: TimeInterval) { offsets.withLock { $0.wall += seconds } }

    func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        if duration <= .seconds(2) { return await Task.yield() }
        try await Task.sleep(for: duration)
    }
}
