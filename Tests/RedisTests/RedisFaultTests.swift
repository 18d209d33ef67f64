import NIOPosix
import Redis
import TestKit
import Testing

/// What happens to servers: each test has its own.
@Suite struct RedisFaultTests {
    @Test func isUsableAgainAfterTheServerWasKilled() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                try await redis.send("SET", "key", "1")
                await server.kill()
                try await eventually("the loss is noticed") { !redis.isConnected }
                try await eventually("commands fail") { await !redis.probe() }
                let error = await #expect(throws: RedisError.self) { try await redis.send("GET", "key") }
                #expect(error?.code == .notConnected, "fails at once, not at its timeout")
                try await server.restart()
                try await eventually("Redis is back") { await redis.probe() }
                #expect(try await redis.send("GET", "key") == .null)
            }
        }
    }

    @Test func commandsInFlightFailWhenTheServerIsKilled() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                try await redis.send("PING")
                await server.freeze()
                let commands = (0..<100).map { number in Task { try await redis.send("ECHO", "\(number)") } }
                await server.kill()
                for command in commands {
                    let error = await #expect(throws: RedisError.self) { try await command.value }
                    #expect(error?.isUnavailable == true)
                }
            }
        }
    }

    @Test func aFrozenServerCostsTimeoutsAndThenNothing() async throws {
        try await withRedisServer { server in
            var configuration = try RedisConfiguration.patient(server.url)
            configuration.commandTimeout = .milliseconds(100)
            configuration.connectTimeout = .milliseconds(200)
            try await withRedisClient(configuration) { redis in
                try await eventually("connected") { await redis.probe() }
                await server.freeze()
                let first = await #expect(throws: RedisError.self) { try await redis.send("PING") }
                #expect(first?.code == .timedOut && first?.isUnavailable == true)
                try await eventually("the connection is given up") {
                    await Self.failureCode { () throws(RedisError) in try await redis.send("PING") } == .notConnected
                }
                await server.thaw()
                try await eventually("Redis is back") { await redis.probe() }
            }
        }
    }

    /// The server does not answer the end of TLS either.
    @Test("The connection to a frozen server is being closed: commands fail as not connected")
    func commandsWhileClosing() async throws {
        try await withRedisServer(tls: true) { server in
            var configuration = try RedisConfiguration.patient(server.url)
            configuration.commandTimeout = .milliseconds(100)
            configuration.connectTimeout = .seconds(5)
            configuration.maximumTimeoutsInARow = 1
            try await withRedisClient(configuration) { redis in
                try await eventually("connected") { await redis.probe() }
                await server.freeze()
                try await eventually("the connection is given up") {
                    _ = await redis.probe()
                    return !redis.isConnected
                }
                let error = await #expect(throws: RedisError.self) {
                    try await redis.send("PING", timeout: .milliseconds(100))
                }
                #expect(error?.code == .notConnected, "it does not wait for a connection until its time is over")
                await server.thaw()
            }
        }
    }

    @Test func aLateAnswerReachesNobody() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                try await redis.send("PING")
                await server.freeze()
                let late = await #expect(throws: RedisError.self) {
                    try await redis.send("ECHO", "late", timeout: .milliseconds(20))
                }
                #expect(late?.code == .timedOut)
                await server.thaw()
                #expect(try await redis.send("ECHO", "mine").string == "mine")
            }
        }
    }

    @Test func aServerThatIsNotThereFailsAtOnce() async throws {
        let port = try freePort()
        try await withRedisClient(.patient("redis://127.0.0.1:\(port)")) { redis in
            let error = await #expect(throws: RedisError.self) { try await redis.send("PING") }
            #expect(error?.code == .notConnected && error?.isUnavailable == true)
        }
    }

    @Test func aClientThatDoesNotRunKeepsItsTimeout() async throws {
        let redis = RedisClient(
            configuration: try .patient("redis://127.0.0.1:1"),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: .quiet)
        let error = await #expect(throws: RedisError.self) {
            try await redis.send("PING", timeout: .milliseconds(20))
        }
        #expect(error?.code == .timedOut)
    }

    @Test func aWrongPasswordIsAnError() async throws {
        try await withRedisServer(password: "right") { server in
            for url in ["redis://:wrong@127.0.0.1:\(server.port)", "redis://127.0.0.1:\(server.port)"] {
                try await withRedisClient(.patient(url)) { redis in
                    let error = await #expect(throws: RedisError.self) { try await redis.send("PING") }
                    #expect(error?.isUnavailable == true)
                    #expect((error?.underlying as? RedisError)?.code == .authenticationFailed)
                    #expect(error.map { "\($0)".contains("wrong@") } == false)
                }
            }
            try await withRedisClient(.patient(server.url)) { redis in
                let answer = try await redis.send("PING")
                #expect(answer.string == "PONG")
            }
        }
    }

    @Test func signsInAsAUserAndSelectsADatabase() async throws {
        try await withRedisServer(password: "right") { server in
            try await withRedisClient(.patient(server.url)) { redis in
                try await redis.send("ACL", "SETUSER", "ada", "on", ">pass/word", "~*", "+@all")
            }
            var configuration = try RedisConfiguration.patient("redis://ada:pass%2Fword@127.0.0.1:\(server.port)/5")
            configuration.clientName = "tests"
            try await withRedisClient(configuration) { redis in
                let info = try await redis.send("CLIENT", "INFO").string ?? ""
                #expect(info.contains(" user=ada ") && info.contains(" db=5 ") && info.contains(" name=tests "))
            }
        }
    }

    @Test func aConnectionThatTheServerClosesIsOpenedAgain() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                let first = try await redis.send("CLIENT", "ID").integer
                try await withRedisClient(.patient(server.url)) { other in
                    try await other.send("CLIENT", "KILL", "ID", "\(first ?? 0)")
                }
                try await eventually("a new connection") {
                    guard let id = try? await redis.send("CLIENT", "ID").integer else { return false }
                    return id != first
                }
            }
        }
    }

    @Test("The server closes idle connections: the client opens a new one")
    func idleConnections() async throws {
        try await withRedisServer { server in
            try await withRedisClient(.patient(server.url)) { redis in
                let first = try await redis.send("CLIENT", "ID").integer
                try await redis.send("CONFIG", "SET", "timeout", 1)
                // Asks the client only, so that the connection stays idle for the server.
                try await eventually("the server has closed the connection") { !redis.isConnected }
                // On a slow machine the next one may be idle for too long as well.
                try await eventually("a new connection") {
                    guard let id = try? await redis.send("CLIENT", "ID").integer else { return false }
                    return id != first
                }
            }
        }
    }

    @Test func carriesAHundredMegabytes() async throws {
        try await withRedisServer { server in
            var configuration = try RedisConfiguration.patient(server.url)
            configuration.maximumReplyBytes = 128 << 20
            try await withRedisClient(configuration) { redis in
                let value = [UInt8](repeating: 7, count: 100 << 20)
                try await redis.send("SET", "large", RedisArgument(value))
                async let small = redis.send("ECHO", "small")
                let answer = try await redis.send("GET", "large")
                #expect(answer.bytes?.count == value.count)
                #expect(answer.bytes == value)
                #expect(try await small.string == "small")
            }
            configuration.maximumReplyBytes = 1 << 20
            try await withRedisClient(configuration) { redis in
                let error = await #expect(throws: RedisError.self) { try await redis.send("GET", "large") }
                #expect(error?.code == .connectionLost && error?.message.contains("larger than") == true)
                try await eventually("a new connection") { await redis.probe() }
            }
        }
    }

    @Test func refusesMoreCommandsThanMayWait() async throws {
        try await withRedisServer { server in
            var configuration = try RedisConfiguration.patient(server.url)
            configuration.maximumPendingCommands = 50
            try await withRedisClient(configuration) { redis in
                try await redis.send("PING")
                await server.freeze()
                await withTaskGroup(of: RedisError.Code?.self) { commands in
                    for _ in 0..<60 {
                        commands.addTask {
                            await Self.failureCode { () throws(RedisError) in try await redis.send("PING") }
                        }
                    }
                    // Only refused commands end before the server answers.
                    for _ in 0..<10 { #expect(await commands.next() == .queueFull) }
                    await server.thaw()
                    for await code in commands { #expect(code == nil || code == .queueFull) }
                }
                #expect(try await redis.send("PING").string == "PONG")
            }
        }
    }

    @Test func speaksTLSAndChecksTheCertificate() async throws {
        try await withRedisServer(password: "secret", tls: true) { server in
            try await withRedisClient(.patient(server.url)) { redis in
                #expect(try await redis.send("PING").string == "PONG")
                let value = String(repeating: "x", count: 1 << 20)
                try await redis.send("SET", "key", "\(value)")
                #expect(try await redis.send("GET", "key").string == value)
            }
            // Not signed by an authority that the system trusts.
            try await withRedisClient(.patient("rediss://:secret@localhost:\(server.port)")) { redis in
                let error = await #expect(throws: RedisError.self) { try await redis.send("PING") }
                #expect(error?.isUnavailable == true)
            }
            // Plainly towards a server that speaks TLS.
            try await withRedisClient(.patient("redis://:secret@127.0.0.1:\(server.port)")) { redis in
                let error = await #expect(throws: RedisError.self) { try await redis.send("PING") }
                #expect(error?.isUnavailable == true)
            }
        }
    }

    /// The code of the error that a command fails with; `nil` when it succeeds.
    private static func failureCode(of command: () async throws(RedisError) -> RedisValue) async -> RedisError.Code? {
        do {
            _ = try await command()
            return nil
        } catch {
            return error.code
        }
    }
}
