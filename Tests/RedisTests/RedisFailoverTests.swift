import NIOPosix
import Redis
import TestKit
import Testing

/// Servers that take no writes, or only those of their part.
@Suite struct RedisFailoverTests {
    @Test func aNameThatFollowsThePrimary() async throws {
        try await withRedisServer { first in
            try await withRedisServer { second in
                try await withTCPProxy(to: first.port) { name in
                    try await withRedisClient(.patient("redis://127.0.0.1:\(name.port)")) { redis in
                        try await redis.send("SET", "key", "1")
                        // Demoted, with the connection to it open.
                        try await demote(first, to: second)
                        await #expect(throws: RedisError.self) { try await redis.send("SET", "key", "2") }
                        try await eventually("the replica is noticed as one") {
                            let error = await #expect(throws: RedisError.self) {
                                try await redis.send("SET", "key", "2")
                            }
                            return error?.isUnavailable == true && error?.message.contains("a replica, which") == true
                        }
                        name.redirect(to: second.port)
                        try await eventually("the new primary is written to") {
                            (try? await redis.send("SET", "key", "3")) != nil
                        }
                        try await withRedisClient(.patient(second.url)) { other in
                            let kept = try await other.send("GET", "key").string
                            #expect(kept == "3")
                        }
                    }
                }
            }
        }
    }

    @Test func aClusterIsRefused() async throws {
        // The nodes' own port is else 10,000 above, where some other connection may have it.
        let bus = ["--cluster-port", "\(try freePort())"]
        try await withRedisServer(arguments: ["--cluster-enabled", "yes"] + bus) { node in
            let log = CapturedLog()
            let client = RedisClient(
                configuration: try .patient(node.url), eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                logger: log.logger)
            let running = Task { await client.run() }
            let error = await #expect(throws: RedisError.self) { try await client.send("SET", "key", "1") }
            #expect(error?.isUnavailable == true)
            // The command may give up before the connection has been refused.
            try await eventually("it is said why") {
                log.lines.contains { $0.contains("warning") && $0.contains("Redis Cluster") }
            }
            running.cancel()
            await running.value
        }
    }

    @Test func aSentinelIsRefused() async throws {
        let line = "redis_mode:sentinel"
        let info = "$\(line.utf8.count)\r\n\(line)\r\n"
        try await withScriptedServer(info: info, answer: "+OK\r\n", thenClose: false) { configuration in
            try await withRedisClient(configuration) { redis in
                try await eventually("it is said why") {
                    let error = await #expect(throws: RedisError.self) { try await redis.send("SET", "key", "1") }
                    return error?.isUnavailable == true && error?.message.contains("Redis Sentinel") == true
                }
            }
        }
    }

    /// Managed ones, say, whose users may not ask.
    @Test func aServerThatTellsNothingOfItselfServes() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                try await redis.send("ACL", "SETUSER", "shy", "on", ">secret", "~*", "+@all", "-info")
            }
            try await withRedisClient(.patient("redis://shy:secret@127.0.0.1:\(server.port)")) { redis in
                await #expect(throws: RedisError.self) { try await redis.send("INFO", "server") }
                try await redis.send("SET", "key", "1")
                #expect(try await redis.send("GET", "key").string == "1")
            }
        }
    }

    private func demote(_ server: RedisServer, to primary: RedisServer) async throws {
        try await withRedisClient(.patient(server.url)) { redis in
            try await redis.send("REPLICAOF", "127.0.0.1", "\(primary.port)")
        }
    }
}
