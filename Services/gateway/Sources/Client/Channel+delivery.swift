import NIOCore

extension NIOBSDSocket.Option {
    /// Bytes that the system takes beyond those that are on their way. With more of them it would be told late, and in
    /// leaps, how far a slow client is.
    static let tcpUnsentLowWater = NIOBSDSocket.Option(rawValue: notSentLowWater)

    // `TCP_NOTSENT_LOWAT`, which the module of the C library does not have everywhere.
    #if os(Linux)
        private static let notSentLowWater: CInt = 25
    #else
        private static let notSentLowWater: CInt = 0x201
    #endif
}

/// How far what was written to a connection has come.
extension Channel {
    /// Bytes that its socket has not taken yet. Not for streams of HTTP/2.
    var waitingBytes: Int { (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// Whether the other side's system has all that the socket has taken. While it has not, bytes that come after
    /// `close` would have the rest thrown away.
    var hasDelivered: Bool {
        #if os(Linux)
            guard let socket = self as? any SocketOptionProvider else { return true }
            var info: TCPInfo?
            // Completed at once, on the channel's event loop.
            socket.unsafeGetSocketOption(level: .tcp, name: .tcp_info).assumeIsolated()
                .whenSuccess { (result: TCPInfo) in info = result }
            return info.map { $0.unacknowledged == 0 && $0.unsent == 0 } ?? true
        #else
            return true
        #endif
    }
}

extension ChannelHandlerContext {
    /// Has `body` called on the event loop once the socket has taken all that was written, or never will.
    func whenTaken(_ body: @escaping () -> Void) {
        let taken = eventLoop.makePromise(of: Void.self)
        let own = NIOLoopBound(body, eventLoop: eventLoop)
        taken.futureResult.whenComplete { _ in own.value() }
        writeAndFlush(NIOAny(ByteBuffer()), promise: taken)
    }
}

/// Has a connection read in small pieces while memory for what is read is short.
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
    /// The beginning of the kernel's `struct tcp_info` (`linux/tcp.h`), which is longer than the C library's. Of what an
    /// older kernel does not tell nothing is there.
    private struct TCPInfo: Sendable {
        private var first: (UInt64, UInt64, UInt64) = (0, 0, 0)
        /// Segments that were sent and not acknowledged, the one that says the end included.
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
