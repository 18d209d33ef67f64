public import NIOCore
import NIOPosix

/// Runs `body` with a TCP server on a free port of this machine, whose behaviour the test defines.
///
/// - Parameter onAccept: receives each connection, on its event loop, to add handlers or to write to it.
public func withTCPServer<Value: Sendable>(
    onAccept: @escaping @Sendable (any Channel) throws -> Void = { _ in },
    isolation: isolated (any Actor)? = #isolation,
    _ body: (_ port: Int) async throws -> Value
) async throws -> Value {
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try onAccept(channel) }
        }
        .bind(host: "127.0.0.1", port: 0).get()
    return try await runFinally {
        try await body(server.localAddress?.port ?? 0)
    } finally: {
        try await server.close()
    }
}
