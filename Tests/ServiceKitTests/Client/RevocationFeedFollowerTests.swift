import Foundation
import GatehouseInstruments
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import MetricsTestKit
import Synchronization
import TestKit
import Testing

@Suite("A follower of the revocation feed")
struct RevocationFeedFollowerTests {
    private struct Outage: Error {}

    private enum Step {
        case end, more, outage, paused
    }

    /// Whether each call may wait, for these results of the calls before it.
    @Test("It waits for entries only at the feed's end: not at the start, with more entries, or after a failure")
    func waits() async throws {
        let told = TestMetrics()
        let metrics = RevocationFeedMetrics(
            isLost: Gauge("lost", help: "", factory: told), readAt: Gauge("read", help: "", factory: told),
            delay: DurationHistogram("delay", help: "", factory: told))
        let log = CapturedLog()
        let follower = RevocationFeedFollower(
            backoff: Backoff(base: .milliseconds(1), maximum: .milliseconds(1)), metrics: metrics, logger: log.logger)
        let steps: [Step] = [.more, .end, .end, .outage, .outage, .more, .end, .paused, .end]
        let calls = Mutex<[Bool]>([])
        let failures = Mutex(0)
        let isLost = Mutex<[Double?]>([])
        let task = Task {
            await follower.follow { mayWait in
                let call = calls.withLock { calls in
                    calls.append(mayWait)
                    return calls.count - 1
                }
                isLost.withLock { $0.append((try? told.expectMeter("lost"))?.lastValue) }
                guard call < steps.count else {
                    try await Task.sleep(for: .seconds(3600))
                    throw CancellationError()
                }
                switch steps[call] {
                case .end: return .read(ages: [], reset: false, more: false)
                case .more: return .read(ages: [], reset: false, more: true)
                case .outage: throw Outage()
                case .paused: return .paused(.milliseconds(1))
                }
            } onFailure: { error in
                #expect(error is Outage)
                failures.withLock { $0 += 1 }
            }
        }
        try await eventually("it has read all") { calls.withLock { $0.count } == steps.count + 1 }
        task.cancel()
        await task.value
        #expect(calls.withLock(\.self) == [false, false, true, true, false, false, false, true, true, true])
        #expect(failures.withLock(\.self) == 2)
        #expect(isLost.withLock { $0[4...6].map { $0 } } == [1, 1, 0])
        #expect(log.lines.count { $0.contains("lost the revocation feed") } == 1, "\(log.lines)")
        #expect(log.lines.count { $0.contains("following the revocation feed again") } == 1, "\(log.lines)")
    }
}
