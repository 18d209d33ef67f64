import Limits
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

    @Test func localBucketsAreBoundedAndAFloodResetsNone() {
        let local = LocalTokenBuckets(bucket: bucket, maximumCount: 100)
        func take(_ cost: Int, _ key: String, at now: Int64) -> Bool { local.take(cost, from: key, now: now).isAllowed }
        for _ in 0..<3 { #expect(take(1, "victim", at: 100 * second)) }
        var allowed = 0
        for number in 0..<50_000 {
            if take(3, "\(number)", at: 100 * second) { allowed += 1 }
            #expect(local.count <= 100)
        }
        #expect(!take(1, "victim", at: 100 * second) && !take(1, "7", at: 100 * second))
        // 99 of their own, and 256 that are shared and hold 64 times as much.
        #expect(allowed == 99 + 256 * 64)
        // What is full again makes room.
        for number in 0..<100 { #expect(take(3, "late\(number)", at: 110 * second)) }
        for number in 0..<100 { #expect(!take(1, "late\(number)", at: 110 * second)) }
    }
}
