import GatehouseTokenValidation
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import ServiceLifecycle
import Synchronization

/// Accepts clients. At shutdown, it waits for requests in flight.
struct GatewayServer: Service {
    /// Bytes of a response that the system accepts before the client has received them.
    private static let mostUnsent: ChannelOptions.Types.SocketOption.Value = 64 * 1024

    let gateway: Gateway
    /// `nil`: the gateway speaks HTTP without TLS.
    var certificate: ServerCertificate?
    let group: any EventLoopGroup
    let host: String
    let port: Int
    /// Time allowed for in-flight requests at shutdown.
    var grace = Duration.seconds(20)
    /// Called with the port once clients can connect.
    var onListening: @Sendable (Int) async -> Void = { _ in }

    func run() async throws {
        await gateway.names.lookUpNew(in: gateway.routes.table)
        let workers = try await makeWorkers()
        for (loop, worker) in zip(group.makeIterator(), workers) { loop.execute { worker.value.start() } }
        defer { for (loop, worker) in zip(group.makeIterator(), workers) { loop.execute { worker.value.stop() } } }
        let server = try await listen(workers)
        gateway.logger.info("listening", metadata: ["port": "\(server.localAddress?.port ?? 0)"])
        await onListening(server.localAddress?.port ?? 0)
        try? await gracefulShutdown()
        gateway.isDraining = true
        try? await server.close()
        await drain(workers)
    }

    private func makeWorkers() async throws -> [NIOLoopBound<Worker>] {
        let loops = Array(group.makeIterator())
        var workers: [NIOLoopBound<Worker>] = []
        for loop in loops {
            let worker = try await loop.submit {
                NIOLoopBound(Worker(eventLoop: loop, gateway: gateway), eventLoop: loop)
            }.get()
            gateway.keys.onChange { loop.execute { worker.value.keysChanged() } }
            gateway.names.onChange { loop.execute { worker.value.takeRoutes() } }
            gateway.routes.onChange { loop.execute { worker.value.takeRoutes() } }
            workers.append(worker)
        }
        return workers
    }

    private func listen(_ workers: [NIOLoopBound<Worker>]) async throws -> any Channel {
        let byLoop = Dictionary(
            uniqueKeysWithValues: zip(group.makeIterator(), workers).map { (ObjectIdentifier($0.0), $0.1) })
        return try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.tcpOption(.tcpUnsentLowWater), value: Self.mostUnsent)
            // NIO keeps all messages of one turn of the event loop in memory, even if the handlers do not read.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // Throwing an error closes the channel.
                    guard !gateway.openConnections.isFarOverLimit else {
                        gateway.metrics.countRefusal("connections")
                        throw TooManyConnections()
                    }
                    let worker = byLoop[ObjectIdentifier(channel.eventLoop)]!.value
                    let address = ClientAddress(channel.remoteAddress)
                    let now = worker.now
                    guard gateway.admitsConnection(from: address, now: now) else { throw TooManyConnections() }
                    let peer = NIOLoopBound(
                        ClientPeer(
                            address, on: channel, gateway: gateway, isSecure: certificate != nil, now: now),
                        eventLoop: channel.eventLoop)
                    channel.closeFuture.whenComplete { _ in peer.value.closed() }
                    let connection = ClientConnection(worker: worker, peer: peer.value)
                    let pipeline = channel.pipeline.syncOperations
                    if gateway.settings.expectsProxyHeader {
                        try pipeline.addHandler(ProxyHeaderReader(for: connection))
                    }
                    if let certificate {
                        try pipeline.addHandlers(
                            NIOSSLServerHandler(context: certificate.context), HTTP2Switch(from: connection))
                    }
                    try pipeline.addHandler(connection)
                }
            }
            .bind(host: host, port: port).get()
    }

    private struct TooManyConnections: Error {}

    /// Closes the idle connections, and waits for the others.
    private func drain(_ workers: [NIOLoopBound<Worker>]) async {
        let deadline = ContinuousClock.now + grace
        while gateway.openConnections.count > 0, ContinuousClock.now < deadline, !Task.isCancelled {
            for (loop, worker) in zip(group.makeIterator(), workers) {
                loop.execute { worker.value.closeIdleConnections() }
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
    }
}
