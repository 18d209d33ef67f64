import Logging
import NIOPosix
import Redis

let singletonEventLoopGroup = MultiThreadedEventLoopGroup.singleton
let silentLogger = Logger(label: "redis", factory: { _ in SwiftLogNoOpLogHandler() })

/// Time-outs that a busy machine does not reach, and short waits between attempts to connect.
func patientConfiguration(_ url: String) throws -> RedisConfiguration {
    var configuration = try RedisConfiguration(url: url)
    configuration.commandTimeout = .seconds(30)
    configuration.connectTimeout = .seconds(30)
    configuration.backoff.maximum = .milliseconds(100)
    return configuration
}

/// The code of the error that a command fails with; `nil` when it succeeds.
func failureCode(of command: () async throws(RedisError) -> RedisValue) async -> RedisError.Code? {
    do {
        _ = try await command()
        return nil
    } catch {
        return error.code
    }
}
