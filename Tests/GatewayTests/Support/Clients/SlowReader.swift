import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A client that takes what comes in pieces, with a pause before each.
final class SlowReader: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private struct State {
        var bytes: [UInt8] = []
        var count = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let pause: TimeAmount
    private let keepsBytes: Bool
    private let opened = Mutex<(any Channel)?>(nil)

    private init(pause: TimeAmount, keepsBytes: Bool) {
        self.pause = pause
        self.keepsBytes = keepsBytes
    }

    /// - Parameters:
    ///   - piece: bytes that it takes at once, at the most.
    ///   - tls: `nil`: without TLS.
    ///   - keepsBytes: whether it keeps more of them than their number.
    static func connect(
        port: Int, piece: Int, pause: TimeAmount, tls: NIOSSLContext? = nil, keepsBytes: Bool = false
    ) async throws -> SlowReader {
        let reader = SlowReader(pause: pause, keepsBytes: keepsBytes)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.socketOption(.so_rcvbuf), value: 64 * 1024)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: piece))
            .connect(port: port, tls: tls, handler: reader)
        reader.opened.withLock { $0 = channel }
        return reader
    }

    func send(_ bytes: [UInt8]) async throws {
        try await opened.withLock { $0 }!.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func close() async { try? await opened.withLock { $0 }!.close().get() }

    /// All that has come, as far as it is kept.
    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var count: Int { state.withLock { $0.count } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        let reads = context.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: pause) { _ in channel.read() }
        channel.closeFuture.whenComplete { _ in reads.cancel() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        state.withLock { state in
            state.count += bytes.readableBytes
            if keepsBytes { state.bytes.append(contentsOf: bytes.readableBytesView) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) { state.withLock { $0.isClosed = true } }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
