import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix

/// Just enough of a client to speak HTTP/2 in clear text, which AsyncHTTPClient does not.
struct HTTP2TestClient {
    struct Response: Sendable {
        var status: UInt
        var headers: [String: String]
        var body: String
    }

    private let channel: any Channel
    private let multiplexer: NIOHTTP2Handler.StreamMultiplexer

    static func connect(port: Int) async throws -> HTTP2TestClient {
        // The server speaks first: the pipeline must stand before its bytes come.
        let (channel, multiplexer) = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let multiplexer = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
                        mode: .client, connectionConfiguration: .init(), streamConfiguration: .init()
                    ) { $0.eventLoop.makeSucceededVoidFuture() }
                    return (channel, multiplexer)
                }
            }
        return HTTP2TestClient(channel: channel, multiplexer: multiplexer)
    }

    func post(_ path: String, headers: [String: String], body: String) async throws -> Response {
        let answer = channel.eventLoop.makePromise(of: Response.self)
        let stream = channel.eventLoop.makePromise(of: (any Channel).self)
        multiplexer.createStreamChannel(promise: stream) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTP1ClientCodec(httpProtocol: .http))
                try stream.pipeline.syncOperations.addHandler(Collector(answer))
            }
        }
        let request = HTTPRequestHead(
            version: .http2, method: .POST, uri: path,
            headers: HTTPHeaders([("host", "127.0.0.1")] + headers.map { ($0.key, $0.value) }))
        let opened = try await stream.futureResult.get()
        opened.write(HTTPClientRequestPart.head(request), promise: nil)
        opened.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(string: body))), promise: nil)
        opened.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        return try await answer.futureResult.get()
    }

    func close() async throws {
        try await channel.close()
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart

        private let promise: EventLoopPromise<Response>
        private var response = Response(status: 0, headers: [:], body: "")

        init(_ promise: EventLoopPromise<Response>) {
            self.promise = promise
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                response.status = head.status.code
                response.headers = Dictionary(head.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
            case .body(let bytes): response.body += String(buffer: bytes)
            case .end: promise.succeed(response)
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            promise.fail(ChannelError.eof)
        }
    }
}
