import Foundation
import NIOCore
import Synchronization
import TestKit

/// An upstream that answers a head with what it is told to, and from then on says back whatever it hears.
final class TunnelUpstream: Sendable {
    private struct State {
        var head = ""
        var open = 0
        var heard: [UInt8] = []
    }

    private let state = Mutex(State())
    private let answer: String

    private init(_ answer: String) { self.answer = answer }

    /// The last head that it was sent.
    var head: String { state.withLock { $0.head } }
    /// All that it has heard after heads.
    var heard: [UInt8] { state.withLock { $0.heard } }
    /// Connections that are there.
    var open: Int { state.withLock { $0.open } }

    static let switching =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\n"
        + "Sec-WebSocket-Accept: x\r\n\r\n"

    static func run(
        answer: String = switching, _ body: (TunnelUpstream, _ port: Int) async throws -> Void
    ) async throws {
        let upstream = TunnelUpstream(answer)
        try await withTCPServer(
            onAccept: { channel in
                upstream.state.withLock { $0.open += 1 }
                channel.closeFuture.whenComplete { _ in upstream.state.withLock { $0.open -= 1 } }
                try channel.pipeline.syncOperations.addHandler(Handler(upstream))
            },
            { port in try await body(upstream, port) })
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let upstream: TunnelUpstream
        private var head = ""
        private var isTunnel = false

        init(_ upstream: TunnelUpstream) { self.upstream = upstream }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !isTunnel else {
                let bytes = unwrapInboundIn(data)
                upstream.state.withLock { $0.heard += bytes.readableBytesView }
                return context.writeAndFlush(data, promise: nil)
            }
            head += String(buffer: unwrapInboundIn(data))
            guard let end = head.range(of: "\r\n\r\n") else { return }
            isTunnel = true
            let ahead = String(head[end.upperBound...])
            upstream.state.withLock { $0.head = String(self.head[..<end.upperBound]) }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: upstream.answer + ahead)), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
