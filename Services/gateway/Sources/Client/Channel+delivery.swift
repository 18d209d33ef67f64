import NIOCore

extension NIOBSDSocket.Option {
    /// The number of bytes that the system accepts beyond those in flight. With a larger buffer the system would report
    /// a slow client's progress late and in large steps.
    static let tcpUnsentLowWater = NIOBSDSocket.Option(rawValue: notSentLowWater)

    // `TCP_NOTSENT_LOWAT`, which some modules of the C library lack.
    #if os(Linux)
        private static let notSentLowWater: CInt = 25
    #else
        private static let notSentLowWater: CInt = 0x201
    #endif
}

/// Reports how much of the written data the client has received.
extension Channel {
    /// Bytes that the socket has not accepted yet. Do not use it on streams of HTTP/2.
    var waitingBytes: Int { (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// Whether the other side's system has received everything that the socket accepted. Until it has, bytes that
    /// arrive after `close` would make the system discard the rest.
    var hasDelivered: Bool {
        #if os(Linux)
            guard let socket = self as? any SocketOptionProvider else { return true }
            var info: TCPInfo?
            // The future is complete at once on the channel's event loop.
            socket.unsafeGetSocketOption(level: .tcp, name: .tcp_info).assumeIsolated()
                .whenSuccess { (result: TCPInfo) in info = result }
            return info.map { $0.unacknowledged == 0 && $0.unsent == 0 } ?? true
        #else
            return true
        #endif
    }
}

extension ChannelHandlerContext {
    /// Calls `body` on the event loop once the socket has accepted everything that was written, or has closed.
    func whenTaken(_ body: @escaping () -> Void) {
        let taken = eventLoop.makePromise(of: Void.self)
        let own = NIOLoopBound(body, eventLoop: eventLoop)
        taken.futureResult.whenComplete { _ in own.value() }
        writeAndFlush(NIOAny(ByteBuffer()), promise: taken)
    }
}

/// Makes a connection read in small pieces while memory for request bodies is short.
struct ReadSize {
    private(set) var isSmall = false

    mutating func adapt(_ channel: any Channel, to budget: BufferBudget) {
        guard budget.isShort != isSmall else { return }
        isSmall.toggle()
        let allocator = AdaptiveRecvByteBufferAllocator(
            minimum: 64, initial: 2048, maximum: isSmall ? BufferBudget.least : BufferBudget.most)
        try? channel.syncOptions?.setOption(.recvAllocator, value: allocator)
    }
}

#if os(Linux)
    /// The beginning of the kernel's `struct tcp_info` (`linux/tcp.h`), which is longer than the C library's. Members
    /// that an older kernel does not fill stay 0.
    private struct TCPInfo: Sendable {
        private var first: (UInt64, UInt64, UInt64) = (0, 0, 0)
        /// Segments that were sent and not acknowledged, including the one with FIN.
        private(set) var unacknowledged: UInt32 = 0
        private var second: UInt32 = 0
        private var third:
            (
                UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
                UInt64
            ) = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        /// Bytes that wait for the other side to open its window.
        private(set) var unsent: UInt32 = 0
    }
#endif
