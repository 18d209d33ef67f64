import DequeModule
import Logging
import Metrics
import NIOCore
import NIOPosix

/// The connections of one event loop to one address of an upstream.
final class UpstreamPool {
    /// Whom the connections lead to.
    struct Endpoint: Hashable {
        var address: SocketAddress
        /// What its certificate has to name; empty without TLS.
        var host = ""
        /// `nil`: without TLS.
        var tls: UpstreamTLS?
    }

    /// Bytes that the system keeps of an answer that nobody reads; it may double that.
    private static let receiveBuffer: ChannelOptions.Types.SocketOption.Value = 256 * 1024

    unowned let worker: Worker
    /// The one request that finds out whether an address that is set aside is well again. Gone, as the request is.
    weak var probe: Exchange?

    private let endpoint: Endpoint
    private var idle: [UpstreamConnection] = []
    /// Connections that are open or being opened.
    private var count = 0
    private var waiting: Deque<Exchange> = []
    /// WebSockets that are open.
    private(set) var tunnels = 0
    private var circuit = Circuit()
    /// On how many event loops the address is set aside.
    private let setAside: Meter
    /// No route in force names the address any more.
    private var isRetired = false

    init(_ endpoint: Endpoint, worker: Worker) {
        self.worker = worker
        self.endpoint = endpoint
        setAside = worker.gateway.metrics.address(endpoint.address.authority)
    }

    private var settings: GatewaySettings { worker.gateway.settings }

    /// Requests that are on their way, or wait to be.
    var outstanding: Int { count - idle.count + waiting.count }

    // MARK: Connections

    /// Finds a connection for `exchange`, at once or later: `connected` or `failed` is called on it.
    func lease(for exchange: Exchange, isRetry: Bool) {
        // Where one idle connection was stale, so may be the others.
        while !isRetry, let connection = idle.popLast() {
            if connection.isOpen { return exchange.connected(connection) }
        }
        guard count < settings.maximumUpstreamConnections else {
            guard waiting.count < settings.maximumUpstreamConnections else {
                return exchange.failed(.busy, isSafeToRepeat: false)
            }
            return waiting.append(exchange)
        }
        connect(for: exchange)
    }

    /// `exchange` no longer waits for a connection.
    func forget(_ exchange: Exchange) { waiting.removeAll { $0 === exchange } }

    func giveBack(_ connection: UpstreamConnection) {
        guard connection.isOpen else { return }
        if let next = waiting.popFirst() { return next.connected(connection) }
        guard !isRetired else { return connection.close() }
        connection.idleSince = worker.now
        idle.append(connection)
    }

    /// The connection has closed.
    func lost(_ connection: UpstreamConnection) {
        idle.removeAll { $0 === connection }
        leave()
    }

    func tunnelOpened() { tunnels += 1 }

    func tunnelClosed() { tunnels -= 1 }

    /// There is room for one connection more: one has closed, or has become a tunnel.
    func leave() {
        count -= 1
        if let next = waiting.popFirst() { lease(for: next, isRetry: false) }
    }

    /// Closes what was idle for too long.
    func sweep(now: Int64) {
        let oldest = now - settings.upstreamIdleTimeout.nanoseconds
        closeIdle { $0.idleSince < oldest }
    }

    /// No route names the address any more: requests that are on their way end as they would, and their connections
    /// with them.
    func retire() {
        if !isWell { setAside.decrement() }
        isRetired = true
        worker.gateway.metrics.forget(address: endpoint.address.authority)
        closeIdle { _ in true }
    }

    private func closeIdle(while condition: (UpstreamConnection) -> Bool) {
        while let first = idle.first, condition(first) {
            idle.removeFirst()
            first.close()
        }
    }

    private func connect(for exchange: Exchange) {
        count += 1
        // Both closures run on this pool's event loop.
        open().assumeIsolated().whenComplete { result in
            do {
                let channel = try result.get()
                let connection = UpstreamConnection(pool: self)
                do {
                    try channel.pipeline.syncOperations.addHandler(connection)
                } catch {
                    channel.close(promise: nil)
                    throw error
                }
                exchange.connected(connection)
            } catch {
                self.failed(.unreachable, now: self.worker.now)
                // Later, since it may fail at once, and so may each of the many who wait.
                self.worker.eventLoop.assumeIsolated().execute { self.leave() }
                exchange.failed(.unreachable, isSafeToRepeat: true)
            }
        }
    }

    private func open() -> EventLoopFuture<any Channel> {
        let (host, timeout) = (endpoint.host, TimeAmount(settings.connectTimeout))
        let channel = ClientBootstrap(group: worker.eventLoop)
            .connectTimeout(timeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // NIO reads all that the system holds once the other side has closed, whether or not anybody takes it.
            .channelOption(.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
            // What one turn of the event loop brings is kept whether or not anybody wants it.
            .channelOption(.maxMessagesPerRead, value: 1)
            .connect(to: endpoint.address)
        guard let tls = endpoint.tls else { return channel }
        return channel.flatMap { tls.handshake(on: $0, host: host, within: timeout) }
    }

    // MARK: Whether the address is well

    /// Whether it is not set aside.
    var isWell: Bool { circuit.isClosed }

    /// When it failed last; nanoseconds of the worker's clock.
    var failedAt: Int64 { circuit.failedAt }

    func mayBeProbed(now: Int64) -> Bool { circuit.isDue(now: now) && probe == nil }

    func answered() {
        guard circuit.failedAt != 0 else { return }
        change { $0.answered() }
    }

    /// - Parameter now: nanoseconds of the worker's clock.
    func failed(_ failure: Circuit.Failure, now: Int64) {
        change { $0.failed(failure, now: now) }
    }

    private func change(_ body: (inout Circuit) -> Void) {
        let wasWell = isWell
        body(&circuit)
        probe = nil
        guard isWell != wasWell, !isRetired else { return }
        if isWell {
            setAside.decrement()
        } else {
            setAside.increment()
            worker.gateway.metrics.setAside.increment()
        }
        worker.gateway.logger.notice(
            isWell ? "upstream answers again" : "upstream set aside",
            metadata: ["address": "\(endpoint.address.authority)"])
    }
}

extension SocketAddress {
    /// As in a `Host` field.
    var authority: String {
        let host = ipAddress ?? ""
        return (host.contains(":") ? "[\(host)]" : host) + ":\(port ?? 0)"
    }
}
