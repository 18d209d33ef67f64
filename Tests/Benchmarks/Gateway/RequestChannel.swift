import NIOCore
import NIOPosix

/// A connection of a client that asks for the same again and again, and is told when an answer is complete. It
/// understands answers with a `Content-Length` that stand in their first bytes, as all here are.
final class RequestChannel: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: ByteBuffer
    private let answered: (RequestChannel, Result<Void, BenchmarkError>) -> Void
    private var context: ChannelHandlerContext?
    private var input = ByteBuffer()
    private var isAsking = false

    init(
        port: Int, bearer: String, answered: @escaping (RequestChannel, Result<Void, BenchmarkError>) -> Void
    ) {
        request = ByteBuffer(
            string: """
                GET /bench HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nAccept: application/json\r\n\
                Authorization: Bearer \(bearer)\r\n\r\n
                """)
        self.answered = answered
    }

    func ask() {
        isAsking = true
        context?.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    func close() { context?.close(promise: nil) }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        input.writeBuffer(&bytes)
        guard let isGood = answer() else { return }
        input.clear()
        isAsking = false
        answered(self, isGood ? .success(()) : .failure(BenchmarkError("an answer was not 200")))
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard isAsking else { return }
        isAsking = false
        answered(self, .failure(BenchmarkError("a connection was closed before the answer")))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Whether the answer is 200; `nil` until it is complete. The body is the last thing of it, and known.
    private func answer() -> Bool? {
        let view = input.readableBytesView
        let isGood = view.starts(with: "HTTP/1.1 200".utf8)
        if isGood {
            return view.suffix(StaticUpstream.body.utf8.count).elementsEqual(StaticUpstream.body.utf8) ? true : nil
        }
        return view.count > 12 ? false : nil
    }

    /// Connects on an event loop, which is to be the caller's.
    static func connect(
        port: Int, bearer: String, on loop: any EventLoop,
        answered: @escaping @Sendable (RequestChannel, Result<Void, BenchmarkError>) -> Void
    ) async throws -> NIOLoopBound<RequestChannel> {
        try await ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: port)
            .flatMapThrowing { channel in
                let handler = RequestChannel(port: port, bearer: bearer, answered: answered)
                try channel.pipeline.syncOperations.addHandler(handler)
                return NIOLoopBound(handler, eventLoop: loop)
            }.get()
    }
}

/// One request on a connection of its own.
enum OneRequest {
    static func succeeds(port: Int, bearer: String) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let done = loop.makePromise(of: Void.self)
        do {
            let channel = try await RequestChannel.connect(port: port, bearer: bearer, on: loop) { channel, result in
                done.completeWith(result.mapError { $0 as any Error })
                channel.close()
            }
            loop.execute { channel.value.ask() }
        } catch {
            done.fail(error)
        }
        try await done.futureResult.get()
    }
}
