import GatehouseObservability
import GatehouseSettings
import Hummingbird
package import HummingbirdCore
package import Logging
package import NIOCore
import NIOHTTP1
import ServiceLifecycle
import Synchronization

/// An HTTP/1.1 server on Hummingbird, with the limits that all of Gatehouse's services share.
struct HTTPServer: Service {
    let address: ListenAddress
    /// Connections beyond these wait in the system's queue until others end.
    let maximumConnections: Int
    let pipeline: RequestPipeline
    let eventLoopGroup: any EventLoopGroup
    /// Receives the port as soon as it is open.
    let listening: ListeningPort

    /// More than the 16 KiB and 100 fields that the gateway accepts from a client, because the gateway adds fields.
    static let fieldSizeLimit = 16_384
    static let headLimit = 24_576
    static let fieldLimit = 132
    /// Longer than callers keep idle connections, so that they close first, and no request uses a connection that the
    /// server is closing.
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
        let date = DateFieldCache()
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
                    // The rest of the input is not valid HTTP, and the connection guard has closed the connection.
                    throw ChannelError.ioOnClosedChannel
                }
            },
            onServerRunning: { [listening, address, pipeline] channel in
                let port = channel.localAddress?.port ?? address.port
                pipeline.logger.info("listening", .address(ListenAddress(host: address.host, port: port).description))
                listening.open(port)
            })
        let watch = pipeline.stalls?.start(on: eventLoopGroup.next())
        defer { watch?.cancel() }
        try await server.run()
    }
}

/// An accepted connection that no task serves yet.
///
/// A server that stops drops the connections that it has accepted and not yet served. NIO ends the process when an
/// asynchronous channel is released that was never opened (apple/swift-nio#2637), so such a connection is opened and
/// closed here.
package final class AcceptedConnection: ServerChildChannelValue {
    let connection: HTTP1Channel.Value
    private let arrivals: ArrivalTimes?
    private let isServed = Atomic(false)

    package var channel: any Channel { connection.channel }

    /// - Parameter arrivals: the record of arrival times, if the connection's handlers keep one.
    init(_ connection: HTTP1Channel.Value, arrivals: ArrivalTimes?) {
        self.connection = connection
        self.arrivals = arrivals
    }

    deinit {
        guard !isServed.load(ordering: .relaxed) else { return }
        Task { [connection] in try? await connection.executeThenClose { _, _ in } }
    }

    func serve(_ body: (HTTP1Channel.Value) async -> Void) async {
        isServed.store(true, ordering: .relaxed)
        await ArrivalTimes.$ofConnection.withValue(arrivals) { await body(connection) }
    }
}

/// HTTP/1.1 connections, each as an ``AcceptedConnection``.
package struct ServedHTTP1Channel: ServerChildChannel {
    let http1: HTTP1Channel

    package init(http1: HTTP1Channel) { self.http1 = http1 }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
        http1.setup(channel: channel, logger: logger).map { connection in
            let handler = try? channel.pipeline.syncOperations.handler(type: HTTPConnectionGuard.self)
            return AcceptedConnection(connection, arrivals: handler?.arrivals)
        }
    }

    package func handle(value: AcceptedConnection, logger: Logger) async {
        await value.serve { await http1.handle(value: $0, logger: logger) }
    }
}

/// The port that a server has opened, for an address with port 0.
public final class ListeningPort: Sendable {
    private let opened: AsyncStream<Int>
    private let source: AsyncStream<Int>.Continuation
    private let known = Mutex<Int?>(nil)

    public init() {
        (opened, source) = AsyncStream.makeStream()
    }

    /// The server calls this when it accepts connections.
    public func open(_ port: Int) {
        known.withLock { $0 = port }
        source.yield(port)
        source.finish()
    }

    var isOpen: Bool { known.withLock { $0 != nil } }

    /// Waits for the port. Only one task may wait at a time.
    ///
    /// - Throws: `CancellationError`.
    public func port() async throws -> Int {
        for await port in opened { return port }
        guard let port = known.withLock({ $0 }) else { throw CancellationError() }
        return port
    }
}

/// The most connections that the servers of a process accept, so that descriptors remain for its own work.
struct ServerConnections: Sendable, Equatable {
    /// The number of connections if descriptors suffice.
    static let wanted = 8192

    /// On the public port.
    let callers: Int
    /// On the admin port. They are counted apart, so that metrics and health answer while the public port is full.
    let admin: Int

    var isLowered: Bool { callers < Self.wanted }

    /// Descriptors besides connections and event loops: logs, ports, timers, settings that are read again, Redis.
    private static let reserve = 32
    /// Descriptors of an event loop: epoll, wakeup, timer.
    private static let eachLoop = 3

    /// - Parameters:
    ///   - descriptors: the number that the process may have open.
    ///   - taken: the most that the service's own parts have open.
    init(descriptors: Int, taken: Int, loops: Int = System.coreCount) {
        admin = min(64, max(4, descriptors / 8))
        let left = descriptors - admin - taken - Self.reserve - loops * Self.eachLoop
        // Half of them, because each request may need a second connection to another service.
        callers = min(Self.wanted, max(8, left / 2))
    }
}
