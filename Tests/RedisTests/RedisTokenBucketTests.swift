@testable import Redis
import TestKit
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

@Suite struct RedisTokenBucketTests {
    @Test func countsInThisProcessWithoutAServer() async throws {
        let limit = RedisTokenBucket(client: nil, name: "limit", capacity: 2, refillPerSecond: 0.001)
        #expect(await limit.take("a") == .allowed(remaining: 1))
        #expect(await limit.take("a") == .allowed(remaining: 0))
        guard case .refused(let retryAfter) = await limit.take("a") else { return #expect(Bool(false)) }
        #expect(retryAfter > .seconds(900) && retryAfter <= .seconds(1_000))
        #expect(await limit.take("b").isAllowed)
    }

    @Test func isSharedByProcesses() async throws {
        try await withRedis { redis, prefix in
            let replicas = (0..<2).map { _ in
                RedisTokenBucket(client: redis, name: prefix + "limit", capacity: 20, refillPerSecond: 0.001)
            }
            let allowed = await withTaskGroup { group in
                for number in 0..<60 {
                    group.addTask { await replicas[number % 2].take("ada").isAllowed }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(allowed == 20)
            guard case .refused(let retryAfter) = await replicas[0].take("ada") else { return #expect(Bool(false)) }
            #expect(retryAfter > .seconds(900) && retryAfter <= .seconds(1_000))
            #expect(await replicas[1].take("grace", cost: 5) == .allowed(remaining: 15))
            #expect(await replicas[1].take("grace", cost: 0) == .allowed(remaining: 15))
            let life = try await redis.send("PTTL", "\(prefix)limit:ada").integer ?? 0
            #expect((19_000_000...20_000_000).contains(life), "a bucket is forgotten when it is full")
        }
    }

    @Test func takesBackWhatShallNotCount() async throws {
        try await withRedis { redis, prefix in
            for (client, place) in [(redis, RedisTokens.Place.shared), (nil, .local)] {
                let limit = RedisTokenBucket(client: client, name: prefix + "back", capacity: 3, refillPerSecond: 0.001)
                let token = RedisTokens([(limit, "a")])
                for _ in 0..<3 { #expect(await token.take() == .taken(place)) }
                await token.giveBack(to: place)
                #expect(await limit.take("a") == .allowed(remaining: 0))
                #expect(await !limit.take("a").isAllowed)
                // No more than there is room for.
                for _ in 0..<9 { await token.giveBack(to: place) }
                #expect(await limit.take("a") == .allowed(remaining: 2))
            }
        }
    }

    @Test func ofSeveralBucketsAllOrNoneAreTaken() async throws {
        try await withRedis { redis, prefix in
            for (client, place) in [(redis, RedisTokens.Place.shared), (nil, .local)] {
                let wide = RedisTokenBucket(client: client, name: prefix + "wide", capacity: 5, refillPerSecond: 0.01)
                let narrow = RedisTokenBucket(
                    client: client, name: prefix + "narrow", capacity: 1, refillPerSecond: 0.001)
                for tokens in [RedisTokens([(wide, "a"), (narrow, "a")]), RedisTokens([(narrow, "b"), (wide, "b")])] {
                    #expect(await tokens.take() == .taken(place))
                    guard case .refused(let retryAfter) = await tokens.take() else { return #expect(Bool(false)) }
                    #expect(retryAfter > .seconds(900) && retryAfter <= .seconds(1_000))
                }
                for key in ["a", "b"] { #expect(await wide.take(key) == .allowed(remaining: 3)) }
            }
        }
    }

    /// However much is counted, a server that is silent costs one time-out: two would end the connection.
    @Test func aSilentServerIsAskedOnce() async throws {
        try await withScriptedServer(answer: "", thenClose: false) { configuration in
            var configuration = configuration
            configuration.commandTimeout = .milliseconds(200)
            configuration.maximumTimeoutsInARow = 2
            try await withRedisClient(configuration) { redis in
                try await eventually("there is a connection") { redis.isConnected }
                let limits = (1...5).map { number in
                    RedisTokenBucket(client: redis, name: "\(number)", capacity: 1, refillPerSecond: 0.001)
                }
                let tokens = RedisTokens(limits.map { ($0, "a") })
                #expect(await tokens.take() == .taken(.local))
                await tokens.giveBack(to: .local)
                #expect(redis.isConnected)
                for limit in limits { #expect(limit.local.count == 0) }
            }
        }
    }

    @Test func fillsAgain() async throws {
        try await withRedis { redis, prefix in
            let limit = RedisTokenBucket(client: redis, name: prefix + "limit", capacity: 1, refillPerSecond: 20)
            #expect(await limit.take("a").isAllowed)
            try await eventually("a token is back") { await limit.take("a").isAllowed }
        }
    }

    @Test func fallsBackToItsOwnCountWhileRedisIsAway() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                let limit = RedisTokenBucket(client: redis, name: "limit", capacity: 2, refillPerSecond: 0.001)
                #expect(await limit.take("a") == .allowed(remaining: 1))
                await server.kill()
                try await eventually("commands fail") { await !redis.probe() }
                #expect(await limit.take("a") == .allowed(remaining: 1))
                #expect(await limit.take("a") == .allowed(remaining: 0))
                #expect(await !limit.take("a").isAllowed)
                try await server.restart()
                try await eventually("Redis is back") { await redis.probe() }
                #expect(await limit.take("a") == .allowed(remaining: 1))
            }
        }
    }

    @Test func chargesWhatIsDoneAndTellsTheDebt() async throws {
        try await withRedis { redis, prefix in
            let limit = RedisTokenBucket(
                client: redis, name: "\(prefix)debt", capacity: 4, refillPerSecond: 0.001)
            #expect(await limit.charge("a", cost: 3) == nil)
            #expect(await limit.charge("a", cost: 1) == nil)
            func isAbout(_ seconds: Int64, _ debt: Duration?) -> Bool {
                debt.map { $0 > .seconds(seconds - 500) && $0 <= .seconds(seconds) } ?? false
            }
            #expect(isAbout(1_000, await limit.charge("a", cost: 1)))
            #expect(isAbout(3_000, await limit.charge("a", cost: 2)))
            #expect(isAbout(4_000, await limit.charge("a", cost: 100)), "no more than the capacity")
            #expect(await limit.take("a").isAllowed == false)
            #expect(await limit.charge("b", cost: 4) == nil)
        }
        let alone = RedisTokenBucket(client: nil, name: "debt", capacity: 1, refillPerSecond: 1)
        #expect(await alone.charge("a", cost: 10) == nil)
    }
}
