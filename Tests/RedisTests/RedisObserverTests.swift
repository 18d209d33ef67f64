import Redis
import Synchronization
import TestKit
import Testing

/// What a client tells the observer of a request.
@Suite struct RedisObserverTests {
    @Test func tellsOfCommandsWithoutTheirArguments() async throws {
        let lines = Mutex<[String]>([])
        let prefix = uniqueKeyPrefix()
        var configuration = try RedisConfiguration.patient(TestRedis.url)
        configuration.onCommand = { name in
            { error in lines.withLock { $0.append("\(name): \(error ?? "done")") } }
        }
        try await withRedisClient(configuration) { redis in
            try await redis.send("SET", "\(prefix)hush", "hush", "PX", 1_000)
            _ = try? await redis.send("INCR", "\(prefix)hush")
            _ = try await redis.run(RedisScript("return '\(prefix)'"), keys: [])
        }
        _ = try? await withRedisClient(configuration) { redis in
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await redis.send("GET", "\(prefix)hush")
            }.value
        }
        #expect(
            lines.withLock(\.self) == [
                "SET: done", "INCR: ERR", "EVALSHA: NOSCRIPT", "EVAL: done", "GET: cancelled",
            ])
    }
}
