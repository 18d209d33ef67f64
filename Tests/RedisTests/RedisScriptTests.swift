import Redis
import TestKit
import Testing

@Suite struct RedisScriptTests {
    private let append = RedisScript("return redis.call('APPEND', KEYS[1], ARGV[1])")

    @Test func knowsTheDigestThatTheServerKnows() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                let digest = try await redis.send("SCRIPT", "LOAD", "\(append.source)").string
                #expect(digest == append.digest)
            }
        }
    }

    @Test func runsWhetherTheServerHasTheScriptOrNot() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                #expect(try await redis.run(append, keys: ["key"], arguments: ["ab"]) == .integer(2))
                #expect(try await redis.run(append, keys: ["key"], arguments: ["cd"]) == .integer(4))
                try await redis.send("SCRIPT", "FLUSH")
                #expect(try await redis.run(append, keys: ["key"], arguments: ["ef"]) == .integer(6))
                await server.kill()
                try await server.restart()
                try await eventually("Redis is back") { await redis.probe() }
                #expect(try await redis.run(append, keys: ["key"], arguments: ["gh"]) == .integer(2))
            }
        }
    }

    @Test func anErrorInAScriptIsAnError() async throws {
        try await withRedis { redis, _ in
            let script = RedisScript("return redis.error_reply('REFUSED for a reason')")
            let error = await #expect(throws: RedisError.self) { try await redis.run(script, keys: []) }
            #expect(error?.code == .server && error?.serverCode == "REFUSED")
        }
    }
}
