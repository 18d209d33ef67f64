import Foundation
import GatehouseLimits
import NIOPosix
public import Redis

/// The Redis server that the tests share.
public enum TestRedis {
    /// The server's URL, which `make test` sets in `GATEHOUSE_TEST_REDIS_URL`.
    public static var url: String {
        get throws {
            guard let url = ProcessInfo.processInfo.environment["GATEHOUSE_TEST_REDIS_URL"], !url.isEmpty else {
                throw TestKitError("GATEHOUSE_TEST_REDIS_URL is not set: run the tests with `make test`.")
            }
            return url
        }
    }
}

extension RedisConfiguration {
    /// Timeouts that a busy machine does not reach, and short waits between attempts to connect: for a test's
    /// preparations and checks, and for tests that do not concern time.
    public static func patient(_ url: String) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: url)
        configuration.commandTimeout = .seconds(60)
        configuration.connectTimeout = .seconds(60)
        configuration.backoff.maximum = .milliseconds(100)
        return configuration
    }
}

/// Runs a client for as long as `body` takes.
@discardableResult
public func withRedisClient<Value: Sendable>(
    _ configuration: RedisConfiguration, isolation: isolated (any Actor)? = #isolation,
    _ body: (RedisClient) async throws -> Value
) async throws -> Value {
    let client = RedisClient(
        configuration: configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: .quiet)
    let running = Task { await client.run() }
    return try await runFinally {
        try await body(client)
    } finally: {
        running.cancel()
        await running.value
    }
}

/// Runs `body` with a client of the shared server and a unique prefix for its keys. Keys with this prefix are deleted
/// at the end.
@discardableResult
public func withRedis<Value: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: (RedisClient, _ prefix: String) async throws -> Value
) async throws -> Value {
    try await withRedisClient(.patient(TestRedis.url)) { client in
        let prefix = uniqueKeyPrefix()
        return try await runFinally {
            try await body(client, prefix)
        } finally: {
            try await deleteKeys(prefix: prefix, with: client)
        }
    }
}

/// A prefix of Redis keys that no other test uses.
public func uniqueKeyPrefix() -> String {
    "test-\(UUID().uuidString.lowercased()):"
}

private func deleteKeys(prefix: String, with client: RedisClient) async throws {
    var cursor = "0"
    repeat {
        let answer = try await client.send("SCAN", "\(cursor)", "MATCH", "\(prefix)*", "COUNT", 1_000).array ?? []
        cursor = answer.first?.string ?? "0"
        let keys = answer.last?.array?.compactMap(\.string) ?? []
        if !keys.isEmpty { try await client.send(["UNLINK"] + keys.map { RedisArgument($0) }) }
    } while cursor != "0"
}
