public import Foundation
import GatehouseServiceKit
public import Hummingbird
import HummingbirdCore
import NIOCore

/// Runs `body` with an HTTP server on a free port of this machine, which replaces a server that a service calls.
public func withHTTPServer<Value: Sendable>(
    _ router: Router<BasicRequestContext>, isolation: isolated (any Actor)? = #isolation,
    _ body: (_ url: URL) async throws -> Value
) async throws -> Value {
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let server = Application(
        router: router,
        server: HTTPServerBuilder { ServedHTTP1Channel(http1: HTTP1Channel(responder: $0)) },
        configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) }, logger: .quiet)
    let running = Task {
        defer { port.finish() }
        try await server.run()
    }
    guard let number = await ports.first(where: { _ in true }), let url = URL(string: "http://127.0.0.1:\(number)")
    else {
        try await running.value
        throw TestKitError("The server ended before it listened.")
    }
    return try await runFinally {
        try await body(url)
    } finally: {
        running.cancel()
        _ = await running.result
    }
}
