import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// An answer has far more bytes than its body accounts for: endless chunk extensions, for example.
public struct AnswerOverheadExceeded: Error {}

extension HTTPClient.Configuration {
    /// Has connections of HTTP/1.1 closed whose answers are mostly overhead.
    mutating func limitOverhead() {
        http1_1ConnectionDebugInitializer = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let count = AnswerBytes()
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(SocketBytes(count), position: .first)
                try pipeline.addHandler(BodyBytes(count), position: .after(decoder))
            }
        }
    }
}

/// Bytes of the present answer on one connection. Only the connection's event loop touches it.
private final class AnswerBytes {
    /// For a head and for trailers.
    private static let allowance = 256 * 1024
    /// Bytes that each byte of a body may have on its way.
    private static let perByte = 8

    /// That came from the socket.
    var all = 0
    var body = 0

    var isExceeded: Bool { all > Self.allowance + Self.perByte * body }
}

/// Stands at the socket. Each request begins the count anew.
private final class SocketBytes: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private let count: AnswerBytes

    init(_ count: AnswerBytes) { self.count = count }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        (count.all, count.body) = (0, 0)
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count.all += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
        guard count.isExceeded else { return }
        context.fireErrorCaught(AnswerOverheadExceeded())
        context.close(promise: nil)
    }
}

/// Stands behind the decoder.
private final class BodyBytes: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let count: AnswerBytes

    init(_ count: AnswerBytes) { self.count = count }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .body(let bytes) = unwrapInboundIn(data) { count.body += bytes.readableBytes }
        context.fireChannelRead(data)
    }
}
