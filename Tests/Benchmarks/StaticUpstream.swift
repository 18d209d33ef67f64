import NIOCore
import NIOPosix

/// Stands where a team's own service would: answers every request with the same few bytes and does nothing else, so
/// that a line speaks of the gateway alone.
struct StaticUpstream {
    private let channel: any Channel

    static func start(port: Int) async throws -> StaticUpstream {
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Answerer()) }
            }
            .bind(host: "127.0.0.1", port: port).get()
        return StaticUpstream(channel: channel)
    }

    func stop() async throws { try await channel.close() }
}

/// Counts the ends of request heads. It is sent GETs without a body, so nothing more has to be understood.
private final class Answerer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let answer = ByteBuffer(
        string: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"hello\":\"you\"}")
    private static let endOfHead: [UInt8] = Array("\r\n\r\n".utf8)
    private var matched = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        for byte in unwrapInboundIn(data).readableBytesView {
            matched = byte == Self.endOfHead[matched] ? matched + 1 : (byte == Self.endOfHead[0] ? 1 : 0)
            if matched == Self.endOfHead.count {
                matched = 0
                context.write(wrapOutboundOut(Self.answer), promise: nil)
            }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.flush() }
}
