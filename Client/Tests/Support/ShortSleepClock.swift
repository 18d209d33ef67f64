import Foundation
import GatehouseClient
import Synchronization

/// Time passes only by sleeping. Short sleeps are over at once; longer ones and time limits end when the caller that
/// sleeps is cancelled.
final class ShortSleepClock: SessionClock {
    private struct State {
        var now = Duration.zero
        var sleeps: [Duration] = []
    }

    private let state = Mutex(State())
    private let longest: Duration

    init(longest: Duration = .seconds(2)) { self.longest = longest }

    var monotonic: Duration { state.withLock { $0.now } }
    var wall: Date { Date(timeIntervalSince1970: 1_800_000_000 + monotonic / .seconds(1)) }
    /// The short ones, in their order.
    var sleeps: [Duration] { state.withLock { $0.sleeps } }

    func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > longest else {
            state.withLock {
                $0.now += duration
                $0.sleeps.append(duration)
            }
            return
        }
        try await sleep(until: duration)
    }

    func sleep(until moment: Duration) async throws {
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        for await _ in never {}
        withExtendedLifetime(end) {}
        throw CancellationError()
    }
}
