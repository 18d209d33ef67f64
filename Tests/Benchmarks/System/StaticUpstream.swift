import NIOCore
import NIOPosix

/// Stands where a team's own service would: answers every request with the same few bytes and does nothing else, so
/// that a line speaks of the gateway alone.
struct StaticUpstream {
    static let body = #"{"hello":"you"}"#

    private let channel: any Channel

    static func start(
        port: Int, on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws -> StaticUpstream {
        let channel = try await ServerBootstrap(group: group)
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
        string: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(StaticUpstream.body.utf8.count)"
            + "\r\n\r\n\(StaticUpstream.body)")
    /// The last four bytes, as one number: heads may come in pieces.
    private static let endOfHead: UInt32 = 0x0D0A_0D0A
    private var last: UInt32 = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var heads = 0
        unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
            for byte in bytes {
                last = last &<< 8 | UInt32(byte)
                if last == Self.endOfHead { heads += 1 }
            }
        }
        for _ in 0..<heads { context.write(wrapOutboundOut(Self.answer), promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.flush() }
}
