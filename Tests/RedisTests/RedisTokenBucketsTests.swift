import GatehouseLimits
import NIOPosix
import TestKit
import Testing

@testable import Redis

@Suite struct RedisTokenBucketsTests {
    /// A client that the test does not run has no connection.
    private static let absent = RedisClient(
        configuration: try! RedisConfiguration(url: "redis://127.0.0.1:1"),
        eventLoopGroup: .singletonMultiThreadedEventLoopGroup, logger: .quiet)

    @Test func isSharedByProcesses() async throws {
        try await withRedis { redis, prefix in
            let replicas = (0..<2).map { _ in
                RedisTokenBuckets(client: redis, name: prefix + "limit", capacity: 20, refillPerSecond: 0.001)
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
            for (client, place) in [(redis, RedisTokens.Place.shared), (Self.absent, .local)] {
                let limit = RedisTokenBuckets(
                    client: client, name: prefix + "back", capacity: 3, refillPerSecond: 0.001)
                let token = RedisTokens([(limit, "a")])
                for _ in 0..<3 { #expect(await token.take() == .taken(place)) }
                await token.refund(to: place)
                #expect(await limit.take("a") == .allowed(remaining: 0))
                #expect(await !limit.take("a").isAllowed)
                // No more than there is room for.
                for _ in 0..<9 { await token.refund(to: place) }
                #expect(await limit.take("a") == .allowed(remaining: 2))
            }
        }
    }

    @Test func ofSeveralBucketsAllOrNoneAreTaken() async throws {
        try await withRedis { redis, prefix in
            for (client, place) in [(redis, RedisTokens.Place.shared), (Self.absent, .local)] {
                let wide = RedisTokenBuckets(client: client, name: prefix + "wide", capacity: 5, refillPerSecond: 0.01)
                let narrow = RedisTokenBuckets(
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

    @Test func severalTokensAreTakenAndGivenBackTogether() async throws {
        try await withRedis { redis, prefix in
            for (client, place) in [(redis, RedisTokens.Place.shared), (Self.absent, .local)] {
                let limit = RedisTokenBuckets(
                    client: client, name: prefix + "cost", capacity: 5, refillPerSecond: 0.001)
                let three = RedisTokens([(limit, "a")], cost: 3)
                #expect(await three.take() == .taken(place))
                guard case .refused = await three.take() else { return #expect(Bool(false)) }
                #expect(await limit.take("a", cost: 0) == .allowed(remaining: 2))
                await three.refund(to: place)
                #expect(await limit.take("a", cost: 0) == .allowed(remaining: 5))
                guard case .refused = await RedisTokens([(limit, "a")], cost: 6).take() else {
                    return #expect(Bool(false))
                }
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
                    RedisTokenBuckets(client: redis, name: "\(number)", capacity: 1, refillPerSecond: 0.001)
                }
                let tokens = RedisTokens(limits.map { ($0, "a") })
                #expect(await tokens.take() == .taken(.local))
                await tokens.refund(to: .local)
                #expect(redis.isConnected)
                for limit in limits { #expect(limit.local.check(of: "a").isAllowed, "the only token is back") }
            }
        }
    }

    @Test func fillsAgain() async throws {
        try await withRedis { redis, prefix in
            let limit = RedisTokenBuckets(client: redis, name: prefix + "limit", capacity: 1, refillPerSecond: 20)
            #expect(await limit.take("a").isAllowed)
            try await eventually("a token is back") { await limit.take("a").isAllowed }
        }
    }

    @Test func fallsBackToItsOwnCountWhileRedisIsAway() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                let limit = RedisTokenBuckets(client: redis, name: "limit", capacity: 2, refillPerSecond: 0.001)
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
            let limit = RedisTokenBuckets(
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
        let alone = RedisTokenBuckets(client: Self.absent, name: "debt", capacity: 1, refillPerSecond: 1)
        #expect(await alone.charge("a", cost: 10) == nil)
    }
}
