import GatehouseLimits
import Synchronization
import TestKit
import Testing

@Suite final class SingleFlightTests: Sendable {
    private struct Failure: Error {}

    private let flights = SingleFlight<Int, Int>()
    private let calls = Mutex(0)

    /// Counts a call of the work.
    private func call() -> Int {
        calls.withLock { calls in
            calls += 1
            return calls
        }
    }

    /// One caller's impatience is not another's failure.
    @Test func aCallerWithALaterDeadlineStartsOver() async throws {
        let start = ContinuousClock.now
        let (underWay, goOn) = AsyncStream<Never>.makeStream()
        let first = Task {
            try await Deadline.with(Deadline(start)) {
                try await flights.run(1) {
                    _ = self.call()
                    for await _ in underWay {}
                    throw Failure()
                }
            }
        }
        try await eventually("the first is under way") { calls.withLock { $0 } == 1 }
        let others = (0..<10).map { _ in
            Task {
                try await Deadline.with(Deadline(start + .seconds(600), databaseTimeout: .seconds(600))) {
                    try await flights.run(1) { self.call() }
                }
            }
        }
        // Some may come when it is over, which makes no difference to them.
        goOn.finish()
        await #expect(throws: Failure.self) { try await first.value }
        for other in others {
            let value = try await other.value
            #expect(value > 1)
        }
    }
}
