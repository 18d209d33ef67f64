import NIOCore
import NIOPosix
import Synchronization
import TestKit

/// Answers each connection's first bytes with as many as it was told to, and no faster than they are taken.
final class FloodUpstream: Sendable {
    let port: Int
    private let written: Written

    fileprivate init(port: Int, written: Written) {
        self.port = port
        self.written = written
    }

    /// The bytes that were taken when for a while no more are.
    func writtenWhenItWaits() async throws -> Int {
        try await whenStill("it waits") { written.count.withLock { $0 } }
    }

    /// Whether it was asked, and all who asked have gone.
    var isLetGo: Bool { written.count.withLock { $0 } > 0 && written.open.withLock { $0 } == 0 }

    fileprivate final class Written: Sendable {
        let count = Mutex(0)
        let open = Mutex(0)
    }

    fileprivate final class Writer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private static let piece = ByteBuffer(repeating: UInt8(ascii: "x"), count: 64 * 1024)
        private var left: Int
        private let total: Int
        private let closes: Bool
        private var hasBegun = false
        private let written: Written

        init(_ bytes: Int, closes: Bool, _ written: Written) {
            left = bytes
            total = bytes
            self.closes = closes
            self.written = written
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !hasBegun else { return }
            hasBegun = true
            let end = closes ? "Connection: close" : "Content-Length: \(total)"
            let head = ByteBuffer(string: "HTTP/1.1 200 OK\r\n\(end)\r\n\r\n")
            context.write(wrapOutboundOut(head), promise: nil)
            writeOn(context)
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) { if hasBegun { writeOn(context) } }

        private func writeOn(_ context: ChannelHandlerContext) {
            while left > 0, context.channel.isWritable {
                let piece = Self.piece.getSlice(at: 0, length: min(left, Self.piece.readableBytes))!
                left -= piece.readableBytes
                written.count.withLock { $0 += piece.readableBytes }
                context.writeAndFlush(wrapOutboundOut(piece), promise: nil)
                if left == 0, closes { context.close(mode: .output, promise: nil) }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// Runs `body` with an upstream that answers with `bytes` bytes.
///
/// - Parameter closes: whether the connection's end is that of the answer.
func withFloodUpstream(
    bytes: Int, closes: Bool = false, _ body: (FloodUpstream) async throws -> Void
) async throws {
    let written = FloodUpstream.Written()
    try await withTCPServer(
        onAccept: { channel in
            written.open.withLock { $0 += 1 }
            channel.closeFuture.whenComplete { _ in written.open.withLock { $0 -= 1 } }
            try channel.pipeline.syncOperations.addHandler(FloodUpstream.Writer(bytes, closes: closes, written))
        }
    ) { port in try await body(FloodUpstream(port: port, written: written)) }
}
