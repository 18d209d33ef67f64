import Redis
import TestKit
import Testing

@Suite struct RedisLockTests {
    @Test func isHeldByOneAtATime() async throws {
        try await withRedis { redis, prefix in
            let lock = RedisLock(client: redis, name: prefix + "lock", lifetime: .seconds(60))
            let lease = try #require(try await lock.acquire())
            #expect(try await lock.acquire() == nil)
            #expect(try await lease.release())
            #expect(try await !lease.release())
            let next = try #require(try await lock.acquire())
            #expect(try await !lease.release(), "a lease of before does not open the next one's lock")
            #expect(try await lock.acquire() == nil)
            #expect(try await next.release())
        }
    }

    @Test func oneOfManyGetsIt() async throws {
        try await withRedis { redis, prefix in
            let lock = RedisLock(client: redis, name: prefix + "lock", lifetime: .seconds(60))
            let holders = try await withThrowingTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask { try await lock.acquire() != nil }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(holders == 1)
        }
    }

    @Test func opensByItself() async throws {
        try await withRedis { redis, prefix in
            let name = prefix + "lock"
            let long = RedisLock(client: redis, name: name, lifetime: .seconds(30))
            let short = RedisLock(client: redis, name: name, lifetime: .milliseconds(20))
            let expired = try #require(try await short.acquire())
            try await eventually("the lock has opened") { try await long.acquire() != nil }
            #expect(try await !expired.release())
            let remaining = try await redis.send("PTTL", "\(name)").integer ?? 0
            #expect((1...30_000).contains(remaining))
        }
    }

    @Test func isLetGoWhenTheAnswerCameTooLate() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                try await redis.send("PING")
                let lock = RedisLock(client: redis, name: "lock", lifetime: .seconds(60))
                await server.freeze()
                let error = await #expect(throws: RedisError.self) {
                    try await lock.acquire(timeout: .milliseconds(20))
                }
                #expect(error?.code == .timedOut)
                await server.thaw()
                try await eventually("no client holds it") { try await lock.acquire() != nil }
            }
        }
    }
}
