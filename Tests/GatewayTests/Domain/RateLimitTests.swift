import NIOCore
import Redis
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("Rate limits")
struct RateLimitTests {
    @Test("A bucket gives what it holds, and then as fast as it is refilled")
    func bucket() {
        let limit = RateLimit(capacity: 3, perSecond: 2)
        var state: Int64 = 0
        let second: Int64 = 1_000_000_000
        let now = 100 * second
        for _ in 0..<3 { #expect(limit.take(&state, now: now) == nil) }
        #expect(limit.take(&state, now: now) == second / 2)
        #expect(limit.take(&state, now: now + second / 2) == nil)
        #expect(limit.take(&state, now: now + second / 2) != nil)
        for _ in 0..<3 { #expect(limit.take(&state, now: now + 10 * second) == nil) }
    }

    @Test("Each address has its own; many of them are forgotten, not kept")
    func addresses() {
        let limiter = RateLimiter<AddressKey>(RateLimit(capacity: 1, perSecond: 1))
        #expect(limiter.take(AddressKey(value: 1), now: 5) == nil)
        #expect(limiter.take(AddressKey(value: 1), now: 5) != nil)
        #expect(limiter.take(AddressKey(value: 2), now: 5) == nil)
        for value in 0..<300_000 { _ = limiter.take(AddressKey(value: UInt64(value)), now: 5) }
        #expect(limiter.take(AddressKey(value: 299_999), now: 5) != nil)
    }

    @Test("Others are told of every thirty-second part of the limit, and of nothing that was refused")
    func telling() {
        let told = Mutex<[Int]>([])
        func limiter(_ capacity: Int) -> RateLimiter<AddressKey> {
            told.withLock { $0 = [] }
            return RateLimiter(RateLimit(capacity: capacity, perSecond: 1)) { _, _, count in
                told.withLock { $0.append(count) }
            }
        }
        let key = AddressKey(value: 1)
        let large = limiter(320)
        for _ in 0..<400 { _ = large.take(key, now: 5) }
        #expect(told.withLock { $0 } == Array(repeating: 10, count: 32))
        let small = limiter(3)
        for _ in 0..<10 { _ = small.take(key, now: 5) }
        #expect(told.withLock { $0 } == [1, 1, 1])
        // What the others have counted holds here too.
        let other = limiter(100)
        #expect(other.wait(key, now: 5) == nil)
        other.refuse(key, for: .seconds(2), now: 5)
        #expect(other.take(key, now: 5) != nil && other.take(key, now: 5 + 2_000_000_000) == nil)
    }

    @Test("Replicas count together through Redis, and each alone without it")
    func shared() async throws {
        try await withRedis { redis, prefix in
            let limit = RateLimit(capacity: 4, perSecond: 0.001)
            func replica() -> RateLimiter<AddressKey> {
                SharedLimits(redis: redis, prefix: prefix).limiter(limit, "test")
            }
            let (one, other) = (replica(), replica())
            let (busy, quiet) = (AddressKey(value: 1), AddressKey(value: 2))
            /// Each takes a thousand seconds to come back.
            func counted(_ number: Int) async throws {
                try await eventually("Redis has counted \(number)") {
                    (try await redis.send("PTTL", "\(prefix)test:\(busy)").integer ?? 0) > number * 1_000_000 - 500_000
                }
            }
            #expect(other.take(busy, now: now) == nil)
            try await counted(1)
            for _ in 0..<4 { #expect(one.take(busy, now: now) == nil) }
            #expect(one.take(busy, now: now) != nil)
            #expect(other.take(quiet, now: now) == nil)
            try await counted(5)
            #expect(other.take(busy, now: now) == nil, "the second of four that it has counted itself")
            try await eventually("the other replica is told that it is one too many") {
                other.wait(busy, now: now) != nil
            }
            #expect(other.take(quiet, now: now) == nil)
        }
        let alone: RateLimiter<AddressKey> = SharedLimits().limiter(RateLimit(capacity: 1, perSecond: 1), "test")
        #expect(alone.take(AddressKey(value: 1), now: 5) == nil)
    }

    private var now: Int64 { Int64(NIODeadline.now().uptimeNanoseconds) }
}
