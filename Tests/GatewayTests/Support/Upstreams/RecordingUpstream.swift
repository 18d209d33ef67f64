import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A small service behind the gateway that keeps all it was sent, read by llhttp, and answers as a test tells it to.
final class RecordingUpstream: Sendable {
    struct Request: Sendable {
        var head: HTTPRequestHead
        var body: ByteBuffer
        /// In how many pieces the body came.
        var pieces = 0
        var trailers: HTTPHeaders?
        /// Of the connection, from 1 on.
        var connection: Int

        func field(_ name: String) -> String? { head.headers.first(name: name) }
        var text: String { String(buffer: body) }
    }

    /// What an answer consists of.
    enum Step: Sendable {
        case bytes(String)
        /// What is no text.
        case raw([UInt8])
        case close
        /// Waits for the test.
        case pause
    }

    typealias Behaviour = @Sendable (Request) -> [Step]

    private struct State {
        var requests: [Request] = []
        var begun = 0
        var connections = 0
        var open = 0
        var channels: [any Channel] = []
    }

    private let state = Mutex(State())
    private let server: Mutex<(any Channel)?> = Mutex(nil)
    let behaviour: Mutex<Behaviour>

    static func answer(_ body: String, status: String = "200 OK", fields: String = "") -> Behaviour {
        { request in
            [
                .bytes(
                    "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n"
                        + (request.head.method == .HEAD ? "" : body))
            ]
        }
    }

    init(_ behaviour: @escaping Behaviour = RecordingUpstream.answer("hello")) {
        self.behaviour = Mutex(behaviour)
    }

    /// - Parameter tls: `nil`: without TLS.
    func start(host: String = "127.0.0.1", port: Int = 0, tls: NIOSSLContext? = nil) async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let number = self.state.withLock { state in
                        state.connections += 1
                        state.open += 1
                        state.channels.append(channel)
                        return state.connections
                    }
                    channel.closeFuture.whenComplete { _ in self.state.withLock { $0.open -= 1 } }
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    try channel.pipeline.syncOperations.addHandlers(
                        ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)),
                        Recorder(upstream: self, connection: number))
                }
            }
            .bind(host: host, port: port).get()
        server.withLock { $0 = channel }
        return channel.localAddress!.port!
    }

    func stop() async {
        try? await server.withLock { $0 }?.close().get()
        await closeConnections()
    }

    /// As a crashed machine does: without a word that all was said.
    func resetConnections() async {
        for channel in state.withLock({ $0.channels }) {
            // The kernel sends RST in place of FIN where it may not wait for what is still to be sent.
            try? await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        await closeConnections()
    }

    func closeConnections() async {
        let channels = state.withLock { state in
            defer { state.channels = [] }
            return state.channels
        }
        for channel in channels { try? await channel.close().get() }
    }

    var requests: [Request] { state.withLock { $0.requests } }
    /// Requests of which at least the head has come.
    var begun: Int { state.withLock { $0.begun } }
    var connections: Int { state.withLock { $0.connections } }
    /// Of them those that are still there.
    var open: Int { state.withLock { $0.open } }

    private final class Recorder: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = ByteBuffer

        let upstream: RecordingUpstream
        let connection: Int
        var request: Request?

        init(upstream: RecordingUpstream, connection: Int) {
            self.upstream = upstream
            self.connection = connection
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                request = Request(head: head, body: ByteBuffer(), connection: connection)
                upstream.state.withLock { $0.begun += 1 }
            case .body(var bytes):
                request?.body.writeBuffer(&bytes)
                request?.pieces += 1
            case .end(let trailers):
                guard var request else { return }
                request.trailers = trailers
                self.request = nil
                upstream.state.withLock { $0.requests.append(request) }
                for step in upstream.behaviour.withLock({ $0 })(request) {
                    switch step {
                    case .bytes(let text): context.write(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
                    case .raw(let bytes): context.write(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
                    case .close:
                        context.flush()
                        context.close(mode: .output, promise: nil)
                    case .pause: break
                    }
                }
                context.flush()
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
