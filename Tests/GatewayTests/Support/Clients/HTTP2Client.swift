import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

/// A client that sends the HTTP/2 frames it is told to, well-formed or not.
final class HTTP2Client: Sendable {
    struct Answer: Sendable {
        var interim: [Int] = []
        var status = 0
        var fields = HPACKHeaders()
        var body = ""
        var trailers: HPACKHeaders?
        /// The gateway has reset the stream.
        var reset: HTTP2ErrorCode?
        /// The answer has come to its proper end.
        var isComplete = false
    }

    private let channel: any Channel
    private let multiplexer: NIOHTTP2Handler.StreamMultiplexer

    private init(channel: any Channel, multiplexer: NIOHTTP2Handler.StreamMultiplexer) {
        self.channel = channel
        self.multiplexer = multiplexer
    }

    /// - Parameter tls: offers `h2`.
    static func connect(port: Int, tls: NIOSSLContext) async throws -> HTTP2Client {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.headerBlockValidation = .disabled
        configuration.contentLengthValidation = .disabled
        let sent = configuration
        let (channel, multiplexer) = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
                    let multiplexer = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
                        mode: .client, connectionConfiguration: sent, streamConfiguration: .init()
                    ) { $0.eventLoop.makeSucceededVoidFuture() }
                    try channel.pipeline.syncOperations.addHandler(NIOCloseOnErrorHandler())
                    return (channel, multiplexer)
                }
            }
        return HTTP2Client(channel: channel, multiplexer: multiplexer)
    }

    /// A stream that the test writes to, frame by frame.
    struct Stream: Sendable {
        fileprivate let channel: any Channel
        fileprivate let ended: EventLoopFuture<Answer>

        func send(_ fields: HPACKHeaders, endStream: Bool = false) async throws {
            try await channel.writeAndFlush(
                HTTP2Frame.FramePayload.headers(.init(headers: fields, endStream: endStream)))
        }

        func send(_ data: ByteBuffer, endStream: Bool = false) async throws {
            try await channel.writeAndFlush(
                HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(data), endStream: endStream)))
        }

        /// Reads what comes from now on.
        func read() async throws {
            try await channel.setOption(.autoRead, value: true).get()
            channel.read()
        }

        /// Gives the request up.
        func reset() async { try? await channel.close().get() }

        /// What has come when the stream ends.
        var answer: Answer { get async throws { try await ended.get() } }
    }

    /// - Parameter reads: whether what comes is read before it is asked for.
    func open(reads: Bool = true) async throws -> Stream {
        let ended = channel.eventLoop.makePromise(of: Answer.self)
        let opened = channel.eventLoop.makePromise(of: (any Channel).self)
        multiplexer.createStreamChannel(promise: opened) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.syncOptions?.setOption(.autoRead, value: reads)
                try stream.pipeline.syncOperations.addHandler(Collector(ended))
            }
        }
        do {
            return Stream(channel: try await opened.futureResult.get(), ended: ended.futureResult)
        } catch {
            ended.fail(error)
            throw error
        }
    }

    /// Sends a whole request on a stream of its own.
    func send(
        _ fields: HPACKHeaders, body: String? = nil, trailers: HPACKHeaders? = nil
    ) async throws -> Answer {
        let stream = try await open()
        do {
            try await stream.send(fields, endStream: body == nil && trailers == nil)
            if let body { try await stream.send(ByteBuffer(string: body), endStream: trailers == nil) }
            if let trailers { try await stream.send(trailers, endStream: true) }
        } catch {
            // The gateway may answer, and end the stream, before it has taken all.
        }
        return try await stream.answer
    }

    func close() async { try? await channel.close().get() }

    /// Returns when the gateway has closed the connection.
    func closed() async throws { try await channel.closeFuture.get() }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload

        private let ended: EventLoopPromise<Answer>
        private var answer = Answer()

        init(_ ended: EventLoopPromise<Answer>) { self.ended = ended }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .headers(let frame):
                if let status = frame.headers.first(name: ":status").flatMap(Int.init) {
                    if status < 200 {
                        answer.interim.append(status)
                    } else {
                        answer.status = status
                        answer.fields = frame.headers
                    }
                } else {
                    answer.trailers = frame.headers
                }
                answer.isComplete = frame.endStream
            case .data(let frame):
                if case .byteBuffer(let bytes) = frame.data { answer.body += String(buffer: bytes) }
                answer.isComplete = frame.endStream
            default: break
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if let closed = error as? NIOHTTP2Errors.StreamClosed { answer.reset = closed.errorCode }
        }

        func channelInactive(context: ChannelHandlerContext) { ended.succeed(answer) }
    }
}
