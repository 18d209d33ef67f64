import Synchronization
import Testing

@testable import GatehouseClient

struct DeadlinesTests {
    /// What has expired, in order.
    private final class Expired: Sendable {
        private let numbers = Mutex<[Int]>([])
        private let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        var all: [Int] { numbers.withLock { $0 } }

        func note(_ number: Int) -> @Sendable () -> Void {
            {
                self.numbers.withLock { $0.append(number) }
                self.continuation.yield(number)
            }
        }

        func next() async { for await _ in stream { return } }
    }

    private let clock = ManualClock(hasty: false)
    private let expired = Expired()

    @Test func expiresWhatIsDueAndNothingElse() async {
        let deadlines = Deadlines(limit: .seconds(30), clock: clock)
        _ = deadlines.begin(expired.note(1))
        let second = deadlines.begin(expired.note(2))
        await clock.sleepers(1)
        clock.advance(by: .seconds(20))
        _ = deadlines.begin(expired.note(3))
        deadlines.end(second)
        clock.advance(by: .seconds(10))
        await expired.next()
        #expect(expired.all == [1])
        await clock.sleepers(1)
        clock.advance(by: .seconds(20))
        await expired.next()
        #expect(expired.all == [1, 3])
    }

    @Test func sleepsAgainAfterNothingRan() async {
        let deadlines = Deadlines(limit: .seconds(30), clock: clock)
        let first = deadlines.begin(expired.note(1))
        await clock.sleepers(1)
        deadlines.end(first)
        clock.advance(by: .seconds(30))
        await clock.sleepers(0)
        _ = deadlines.begin(expired.note(2))
        await clock.sleepers(1)
        clock.advance(by: .seconds(30))
        await expired.next()
        #expect(expired.all == [2])
    }

    @Test func noSleepWithoutDeadlines() async {
        var deadlines: Deadlines? = Deadlines(limit: .seconds(30), clock: clock)
        _ = deadlines?.begin(expired.note(1))
        await clock.sleepers(1)
        deadlines = nil
        await clock.sleepers(0)
        #expect(expired.all.isEmpty)
    }
}
