public import Logging
public import NIOCore

extension RedisClient {
    /// What a server says of itself (`INFO`), asked over a connection that is closed afterwards.
    ///
    /// - Parameter timeout: for connecting and answering together.
    /// - Throws: ``RedisError``.
    public static func info(
        of configuration: RedisConfiguration, on eventLoopGroup: any EventLoopGroup, logger: Logger,
        timeout: Duration = .seconds(3)
    ) async throws(RedisError) -> String {
        let client = RedisClient(configuration: configuration, eventLoopGroup: eventLoopGroup, logger: logger)
        let running = Task { await client.run() }
        defer { running.cancel() }
        return try await client.send("INFO", timeout: timeout).string ?? ""
    }
}
