import Logging
import NIOPosix
import Redis

let singletonEventLoopGroup = MultiThreadedEventLoopGroup.singleton
let silentLogger = Logger(label: "redis", factory: { _ in SwiftLogNoOpLogHandler() })

/// The code of the error that a command fails with; `nil` when it succeeds.
func failureCode(of command: () async throws(RedisError) -> RedisValue) async -> RedisError.Code? {
    do {
        _ = try await command()
        return nil
    } catch {
        return error.code
    }
}
