import NIOCore
import Redis
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("Rate limits")
struct RateLimitTests {
    @Test("Each address has its own, and a flood of others neither resets it nor takes memory without end")
    func flood() {
        let limiter = RateLimiter<AddressKey>(RateLimit(capacity: 2, perSecond: 1))
        let victim = AddressKey(value: 1)
        for _ in 0..<2 { #expect(limiter.take(victim, now: 5) == nil) }
        #expect(limiter.take(victim, now: 5) != nil)
        for value: UInt64 in 0..<200_000 { _ = limiter.take(AddressKey(value: 0x2001_0db8_0000_0000 + value), now: 5) }
        #expect(limiter.take(victim, now: 5) != nil && limiter.delay(of: victim, now: 5) != nil)
        #expect(limiter.count == 65_536)
        // A new client has room with its neighbours, and the flood is not among them.
        let elsewhere = (1...10).map { AddressKey(value: 0x2a00_0000_0000_0000 + $0 << 32) }
        // One of them may share a bucket by chance.
        #expect(elsewhere.count { limiter.take($0, now: 5) == nil && limiter.take($0, now: 5) == nil } >= 9)
        let flooding = AddressKey(value: 0x2001_0db8_0004_0000)
        #expect(limiter.take(flooding, now: 5) != nil && limiter.delay(of: flooding, now: 5) != nil)
        // A bucket that is full again has nothing to tell, and leaves its place to others.
        let later: Int64 = 10_000_000_000
        for value: UInt64 in 0..<200 { #expect(limiter.take(AddressKey(value: value), now: later) == nil) }
        #expect(limiter.count == 65_536)
        for value: UInt64 in 0..<200 { #expect(limiter.take(AddressKey(value: value), now: later) == nil) }
        for value: UInt64 in 0..<200 { #expect(limiter.take(AddressKey(value: value), now: later) != nil) }
    }

    @Test("The networks of one household, and those of one site, have more than one together and not as much as all")
    func networks() {
        let limiter = AddressLimiter(RateLimit(capacity: 3, perSecond: 0.001))
        func admitted(_ addresses: some Sequence<UInt64>, times: Int = 3) -> Int {
            addresses.reduce(0) { count, value in
                count + (0..<times).count { _ in limiter.take(AddressKey(value: value), now: 5) == nil }
            }
        }
        let household: UInt64 = 0x2001_0db8_0000_0100
        #expect(admitted([household]) == 3 && admitted([household]) == 0)
        // Who is refused himself takes nothing from his neighbours.
        #expect(admitted([household], times: 100) == 0)
        #expect(admitted((1..<256).map { household + $0 }) == 3 * 8 - 3)
        let refusal = limiter.take(AddressKey(value: household + 255), now: 5)
        #expect(refusal?.limit.capacity == 24)
        #expect(limiter.excess(of: AddressKey(value: household + 254), now: 5)?.limit.capacity == 24)
        // The next household of the same site.
        #expect(admitted([household + 256]) == 3)
        #expect(admitted((2..<255).lazy.flatMap { h in (0..<8).map { household + h << 8 + $0 } }) == 3 * 64 - 3 * 9)
        #expect(limiter.take(AddressKey(value: 0x2001_0db8_0000_ffff), now: 5)?.limit.capacity == 192)
        #expect(admitted([0x2001_0db8_0001_0000]) == 3)
        // An IPv4 address is alone.
        let addresses = (0..<512).map { ClientAddress("192.0.\($0 / 256).\($0 % 256)")!.key.value }
        #expect(admitted(addresses) == 512 * 3)
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
        #expect(other.delay(of: key, now: 5) == nil)
        other.exhaust(key, for: .seconds(2), now: 5)
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
                other.delay(of: busy, now: now) != nil
            }
            #expect(other.take(quiet, now: now) == nil)
        }
        try await networksAreShared()
        let alone: RateLimiter<AddressKey> = SharedLimits().limiter(RateLimit(capacity: 1, perSecond: 1), "test")
        #expect(alone.take(AddressKey(value: 1), now: 5) == nil)
    }

    private func networksAreShared() async throws {
        try await withRedis { redis, prefix in
            let limit = RateLimit(capacity: 1, perSecond: 0.001)
            func replica() -> AddressLimiter {
                SharedLimits(redis: redis, prefix: prefix).addressLimiter(limit, "test")
            }
            let (one, other) = (replica(), replica())
            func key(_ network: UInt64) -> AddressKey { AddressKey(value: 0x2001_0db8_0000_0000 + network) }
            for network: UInt64 in 0..<8 { #expect(one.take(key(network), now: now) == nil) }
            for network: UInt64 in 8..<16 { #expect(other.take(key(network), now: now) == nil) }
            try await eventually("replicas know that the household is over its limit") {
                one.excess(of: key(99), now: now)?.limit.capacity == 8
                    && other.excess(of: key(99), now: now)?.limit.capacity == 8
            }
            #expect(other.excess(of: key(0x100), now: now) == nil, "another household")
        }
    }

    private var now: Int64 { Int64(NIODeadline.now().uptimeNanoseconds) }
}
