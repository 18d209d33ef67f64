import NIOCore
import NIOSSL

/// What is said to the server.
enum SMTPOutput: Sendable {
    case bytes(ByteBuffer)
    /// Once the server has agreed, the connection is protected before another byte is read.
    case startTLS(ByteBuffer)
}

/// Reads replies, line by line, and starts TLS when the server has agreed to it. It belongs to one event loop.
final class SMTPReplyHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = SMTPReply
    typealias OutboundIn = SMTPOutput
    typealias OutboundOut = ByteBuffer

    private let makeTLS: () throws -> NIOSSLClientHandler?
    private var reader = SMTPReply.Reader()
    private var line: [UInt8] = []
    private var isStartingTLS = false

    /// - Parameter makeTLS: `nil` where there is none to start.
    init(makeTLS: @escaping () throws -> NIOSSLClientHandler?) {
        self.makeTLS = makeTLS
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        do {
            while let byte = buffer.readInteger(as: UInt8.self) {
                guard byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    guard line.count <= SMTPReply.longestLine else { throw SMTPReply.Malformed() }
                    continue
                }
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                let reply = try reader.read(line)
                line = []
                guard let reply else { continue }
                guard isStartingTLS, reply.code == 220 else {
                    isStartingTLS = false
                    context.fireChannelRead(wrapInboundOut(reply))
                    continue
                }
                isStartingTLS = false
                // Whatever came along in the clear could have been put there by anybody.
                guard buffer.readableBytes == 0, let tls = try makeTLS() else { throw SMTPReply.Malformed() }
                try context.pipeline.syncOperations.addHandler(tls, position: .first)
                context.fireChannelRead(wrapInboundOut(reply))
                // The event that follows this read stops at the new handler, which has nothing to show yet.
                context.fireChannelReadComplete()
            }
        } catch {
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .bytes(let bytes):
            context.write(wrapOutboundOut(bytes), promise: promise)
        case .startTLS(let bytes):
            isStartingTLS = true
            context.write(wrapOutboundOut(bytes), promise: promise)
        }
    }
}
