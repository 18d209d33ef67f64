import GatehouseLimits
import Testing

@Suite struct TokenBucketTests {
    /// Three at once, one more each second.
    private let bucket = TokenBucket(capacity: 3, refillPerSecond: 1)
    private let second: Int64 = 1_000_000

    @Test func allowsItsCapacityAndThenItsRate() {
        var fullAt: Int64 = 0
        let start = 100 * second
        for remaining in [2, 1, 0] {
            let (decision, next) = bucket.take(1, fullAt: fullAt, now: start)
            #expect(decision == .allowed(remaining: remaining))
            fullAt = next ?? fullAt
        }
        #expect(bucket.take(1, fullAt: fullAt, now: start).decision == .refused(retryAfter: .seconds(1)))
        #expect(bucket.take(1, fullAt: fullAt, now: start).fullAt == nil, "a refusal costs nothing")
        let later = bucket.take(1, fullAt: fullAt, now: start + second)
        #expect(later.decision == .allowed(remaining: 0))
        #expect(bucket.take(3, fullAt: fullAt, now: start + 3 * second).decision == .allowed(remaining: 0))
    }

    @Test func takesAllOrNothing() {
        #expect(bucket.take(4, fullAt: 0, now: 100 * second).decision == .refused(retryAfter: .seconds(1)))
        let (decision, next) = bucket.take(0, fullAt: 0, now: 100 * second)
        #expect(decision == .allowed(remaining: 3) && next == nil)
    }

    @Test func countsInNanosecondsWhatMicrosecondsAreTooCoarseFor() {
        let fast = TokenBucket(capacity: 3, refillPerSecond: 2_000_000, unit: .nanoseconds)
        #expect(fast.interval == 500 && fast.times(4).interval == 125)
        let (decision, fullAt) = fast.take(3, fullAt: 0, now: 7_000)
        #expect(decision == .allowed(remaining: 0) && decision.retryAfter == nil && fullAt == 8_500)
        #expect(fast.take(1, fullAt: 8_500, now: 7_100).decision.retryAfter == .nanoseconds(400))
        #expect(TokenBucket(capacity: 3, refillPerSecond: 2_000_000).interval == 1)
    }
}
