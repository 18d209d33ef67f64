import DequeModule
import NIOCore
import NIOPosix

/// The connections of one event loop to one upstream.
final class UpstreamPool {
    /// One address of the upstream.
    final class Replica {
        let address: Upstream.Address
        fileprivate let socketAddress: SocketAddress?
        fileprivate var idle: [UpstreamConnection] = []
        /// Requests that wait for an answer.
        var outstanding = 0
        fileprivate var failures = 0
        /// Until then others are asked, where there are others; nanoseconds of the worker's clock.
        fileprivate var setAsideUntil: Int64 = 0

        init(_ address: Upstream.Address) {
            self.address = address
            socketAddress = try? SocketAddress(ipAddress: address.host, port: address.port)
        }
    }

    unowned let worker: Worker
    /// The lines that every head to the upstream has.
    let lines: [UInt8]
    private let replicas: [Replica]
    /// Connections that are open or being opened.
    private var count = 0
    private var waiting: Deque<Exchange> = []

    init(_ upstream: Upstream, worker: Worker) {
        self.worker = worker
        replicas = upstream.addresses.map(Replica.init)
        let host = "Host: \(upstream.addresses[0].authority)\r\n"
        lines = Array((host + (upstream.credential.map { "Gatehouse-Credential: \($0)\r\n" } ?? "")).utf8)
    }

    var replicaCount: Int { replicas.count }
    private var settings: GatewaySettings { worker.gateway.settings }

    /// Finds a connection for `exchange`, at once or later: `connected` or `failed` is called on it.
    func lease(for exchange: Exchange, isRetry: Bool) {
        let replica = chooseReplica()
        // Where one idle connection was stale, so may be the others.
        while !isRetry, let connection = replica.idle.popLast() {
            if connection.isOpen { return exchange.connected(connection) }
        }
        guard count < settings.maximumUpstreamConnections else {
            guard waiting.count < settings.maximumUpstreamConnections else {
                return exchange.failed(.busy, isSafeToRepeat: false)
            }
            return waiting.append(exchange)
        }
        connect(to: replica, for: exchange)
    }

    /// `exchange` no longer waits for a connection.
    func forget(_ exchange: Exchange) { waiting.removeAll { $0 === exchange } }

    func giveBack(_ connection: UpstreamConnection) {
        guard connection.isOpen else { return }
        if let next = waiting.popFirst() { return next.connected(connection) }
        connection.idleSince = worker.now
        connection.replica.idle.append(connection)
    }

    /// The connection has closed.
    func lost(_ connection: UpstreamConnection) {
        connection.replica.idle.removeAll { $0 === connection }
        leave()
    }

    /// There is room for one connection more.
    private func leave() {
        count -= 1
        if let next = waiting.popFirst() { lease(for: next, isRetry: false) }
    }

    /// Closes what was idle for too long.
    func sweep(now: Int64) {
        let oldest = now - settings.upstreamIdleTimeout.nanoseconds
        for replica in replicas {
            while let first = replica.idle.first, first.idleSince < oldest {
                replica.idle.removeFirst()
                first.close()
            }
        }
    }

    // MARK: Replicas

    /// Of two that are picked at random the one with fewer requests; those that failed of late only when all did.
    private func chooseReplica() -> Replica {
        if replicas.count == 1 { return replicas[0] }
        let now = worker.now
        let able = replicas.filter { $0.setAsideUntil <= now }
        guard let one = able.randomElement(using: &worker.random) else {
            return replicas.min { $0.setAsideUntil < $1.setAsideUntil }!
        }
        let other = able.randomElement(using: &worker.random)!
        return one.outstanding <= other.outstanding ? one : other
    }

    private func connect(to replica: Replica, for exchange: Exchange) {
        count += 1
        let bootstrap = ClientBootstrap(group: worker.eventLoop)
            .connectTimeout(TimeAmount(settings.connectTimeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        let channel =
            replica.socketAddress.map { bootstrap.connect(to: $0) }
            ?? bootstrap.connect(host: replica.address.host, port: replica.address.port)
        // Both closures run on this pool's event loop.
        channel.assumeIsolated().whenComplete { result in
            do {
                let channel = try result.get()
                let connection = UpstreamConnection(pool: self, replica: replica)
                do {
                    try channel.pipeline.syncOperations.addHandler(connection)
                } catch {
                    channel.close(promise: nil)
                    throw error
                }
                replica.failures = 0
                replica.setAsideUntil = 0
                exchange.connected(connection)
            } catch {
                replica.failures = min(replica.failures + 1, 6)
                replica.setAsideUntil = self.worker.now + 100_000_000 << Int64(replica.failures)
                // Later, since it may fail at once, and so may each of the many who wait.
                self.worker.eventLoop.assumeIsolated().execute { self.leave() }
                exchange.failed(.unreachable, isSafeToRepeat: true)
            }
        }
    }
}
