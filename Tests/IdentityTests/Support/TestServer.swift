import Hummingbird
import Logging
import Synchronization

/// Runs a small HTTP server on a free port for as long as `body` takes.
func withServer<Result: Sendable>(
    _ router: Router<BasicRequestContext>, _ body: @escaping @Sendable (_ url: String) async throws -> Result
) async throws -> Result {
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let application = Application(
        router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in
            port.yield(channel.localAddress?.port ?? 0)
        }, logger: logger)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await application.run() }
        defer { group.cancelAll() }
        for await number in ports {
            return try await body("http://127.0.0.1:\(number)")
        }
        throw CancellationError()
    }
}
