public import Logging
public import NIOCore

extension RedisClient {
    /// What a server says of itself (`INFO`), asked over a connection that is closed afterwards.
    ///
    /// - Parameter timeout: for connecting and answering together.
    /// - Throws: what the socket or TLS said where there is no connection; else an error whose description is a
    ///   sentence without its full stop, of the server's own words where it refused.
    public static func info(
        of configuration: RedisConfiguration, on eventLoopGroup: any EventLoopGroup, logger: Logger,
        timeout: Duration = .seconds(3)
    ) async throws -> String {
        let client = RedisClient(configuration: configuration, eventLoopGroup: eventLoopGroup, logger: logger)
        let running = Task { await client.run() }
        defer { running.cancel() }
        do {
            return try await client.send("INFO", timeout: timeout).string ?? ""
        } catch {
            throw error.cause
        }
    }
}

extension RedisError {
    /// What began it, below all that was made of it on the way.
    fileprivate var cause: any Error {
        guard let underlying else {
            return Sentence(description: message.hasSuffix(".") ? String(message.dropLast()) : message)
        }
        return (underlying as? RedisError)?.cause ?? underlying
    }

    private struct Sentence: Error, CustomStringConvertible {
        let description: String
    }
}
