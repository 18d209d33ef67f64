import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Observability
import ServiceLifecycle
import Settings

/// An HTTP/1.1 server on Hummingbird, with the limits that all of Gatehouse's services share.
struct HTTPServer: Service {
    let address: ListenAddress
    /// Connections beyond these wait in the system's queue until others end.
    let maximumConnections: Int
    let pipeline: RequestPipeline
    let eventLoopGroup: any EventLoopGroup
    /// Told the port as soon as it is open.
    let listening: ListeningPort

    /// More than the 16 KiB and 100 fields that the gateway takes of a client, since it adds fields of its own.
    static let fieldSizeLimit = 16_384
    static let headLimit = 24_576
    static let fieldLimit = 132
    /// Longer than callers keep idle connections, so that they close first and no request meets a closing one.
    static let idleTimeout = TimeAmount.seconds(75)

    func run() async throws {
        let limits = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: Self.fieldSizeLimit, maxHeaderListSize: Self.headLimit,
            maxHeaderFieldCount: Self.fieldLimit)
        let http1 = HTTPServerBuilder { responder in
            ServedHTTP1Channel(
                http1: HTTP1Channel(
                    responder: responder,
                    configuration: .init(
                        additionalChannelHandlers: [BodyCoalescer(), HTTPConnectionGuard()],
                        idleTimeout: Self.idleTimeout,
                        httpDecoderConfiguration: limits)))
        }
        let date = HTTPDate()
        let server = try http1.buildServer(
            configuration: ServerConfiguration(
                address: .hostname(address.host, port: address.port), backlog: 1024,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    maximumConnections, logger: pipeline.logger)),
            eventLoopGroup: eventLoopGroup,
            logger: Logger(label: "http", factory: { _ in SwiftLogNoOpLogHandler() }),
            responder: { [pipeline] request, writer, channel in
                var response = await pipeline.respond(to: request, channel: channel)
                response.headers[.date] = date.now()
                let body = request.method == .head ? ResponseBody() : response.body
                do {
                    try await writer.write(response: response.head, body: body)
                } catch is HTTPParserError {
                    // What follows in the connection is no HTTP: the connection guard has closed it.
                    throw ChannelError.ioOnClosedChannel
                }
            },
            onServerRunning: { [listening, address, pipeline] channel in
                let port = channel.localAddress?.port ?? address.port
                pipeline.logger.info("listening", .address(ListenAddress(host: address.host, port: port).description))
                listening.open(port)
            })
        let watch = pipeline.stalls.start(on: eventLoopGroup.next())
        defer { watch.cancel() }
        try await server.run()
    }
}
