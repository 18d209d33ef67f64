import DequeModule
import GatehouseInstruments
import Logging
import NIOCore

/// The connections of one event loop to one address of an upstream.
final class UpstreamPool {
    unowned let worker: Worker
    /// The one request that probes the address while it is set aside. Weak, so that the probe ends with the request.
    weak var probe: Exchange?

    let endpoint: UpstreamEndpoint
    /// The results of its health checks; `nil` where it has none.
    private let health: HealthChecker.Health?
    private var isBeingProbed = false
    private var idle: [UpstreamConnection] = []
    /// Connections that are open or being opened.
    private var count = 0
    private var waiting: Deque<Exchange> = []
    /// WebSockets and event streams that are open.
    private(set) var streams = 0
    private var circuit = Circuit()
    /// On how many event loops the address is set aside.
    private let setAside: Gauge
    /// Whether no route in force names the address any more.
    private var isRetired = false
    /// Nanoseconds.
    private let idleTimeout: Int64
    /// When a connection was last tried while the address refuses connections; nanoseconds of the worker's clock.
    private var triedAt: Int64 = 0

    init(_ endpoint: UpstreamEndpoint, worker: Worker) {
        self.worker = worker
        self.endpoint = endpoint
        idleTimeout = (endpoint.idleTimeout ?? worker.gateway.settings.upstreamIdleTimeout).nanoseconds
        setAside = worker.gateway.metrics.address(endpoint.address.authority)
        health = worker.gateway.health.enter(endpoint)
    }

    private var settings: GatewaySettings { worker.gateway.settings }

    /// Requests that are in flight, or wait for a connection.
    var outstanding: Int { count - idle.count + waiting.count }

    // MARK: Connections

    /// Finds a connection for `exchange`, at once or later, and calls `connected` or `failed` on it.
    func lease(for exchange: Exchange, isRetry: Bool) {
        // A retry takes no idle connection: if one was stale, the others may be too.
        if !isRetry, let connection = takeIdle() { return exchange.connected(connection) }
        if circuit.refusesConnections, exchange.hasOneAddress {
            return exchange.failed(.setAside, .never)
        }
        guard count < settings.maximumUpstreamConnections else {
            guard waiting.count < settings.maximumUpstreamConnections else {
                return exchange.failed(.busy, .never)
            }
            return waiting.append(exchange)
        }
        connect(for: exchange)
    }

    /// The open connection that was returned last. Connections that have been idle for so long that the upstream may be
    /// closing them are closed instead.
    private func takeIdle() -> UpstreamConnection? {
        guard !idle.isEmpty else { return nil }
        let oldest = worker.now - idleTimeout
        while let connection = idle.popLast() {
            guard connection.isOpen else { continue }
            if connection.idleSince >= oldest { return connection }
            connection.close()
        }
        return nil
    }

    /// `exchange` no longer waits for a connection.
    func forget(_ exchange: Exchange) { waiting.removeAll { $0 === exchange } }

    func release(_ connection: UpstreamConnection) {
        guard connection.isOpen else { return }
        if let next = waiting.popFirst() { return next.connected(connection) }
        guard !isRetired else { return connection.close() }
        connection.idleSince = worker.now
        idle.append(connection)
    }

    /// The connection has closed.
    func lost(_ connection: UpstreamConnection) {
        idle.removeAll { $0 === connection }
        freeSlot()
    }

    func streamOpened() { streams += 1 }

    func streamClosed() { streams -= 1 }

    /// A slot is free: a connection has closed, or carries a stream.
    func freeSlot() {
        count -= 1
        // A request that is refused at once leaves the slot to the next one.
        while count < settings.maximumUpstreamConnections, let next = waiting.popFirst() {
            lease(for: next, isRetry: false)
        }
    }

    /// Closes connections that were idle for too long. Probes the address if it is set aside and no request has probed
    /// it.
    func sweep(now: Int64) {
        if circuit.refusesConnections, now - triedAt >= Self.probeInterval { tryConnection() }
        if health == nil, circuit.isDue(now: now - Self.probeInterval), probe == nil { sendProbe() }
        let oldest = now - idleTimeout
        closeIdle { $0.idleSince < oldest }
    }

    /// Retires the pool, because no route names the address any more. Requests in flight end normally; their
    /// connections are then closed.
    func retire() {
        if !circuit.isClosed { setAside.decrement() }
        isRetired = true
        worker.gateway.health.leave(endpoint)
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
        connect { connected in
            switch connected {
            case .success(let connection): exchange.connected(connection)
            case .failure(let failure): exchange.failed(failure.ofRequest, .elsewhere)
            }
        }
    }

    /// Checks whether an address that refused a connection accepts one now.
    private func tryConnection() {
        triedAt = worker.now
        connect { if case .success(let connection) = $0 { self.release(connection) } }
    }

    /// - Parameter completion: called on this pool's event loop.
    private func connect(_ completion: @escaping (Result<UpstreamConnection, ConnectFailure>) -> Void) {
        count += 1
        endpoint.connect(on: worker.eventLoop, within: TimeAmount(settings.connectTimeout)).assumeIsolated()
            .whenComplete { result in
                do {
                    let channel = try result.get()
                    let connection = UpstreamConnection(pool: self)
                    do {
                        try channel.pipeline.syncOperations.addHandler(connection)
                    } catch {
                        channel.close(promise: nil)
                        throw error
                    }
                    self.change { $0.connected() }
                    completion(.success(connection))
                } catch {
                    let failure = ConnectFailure(error)
                    self.failedToConnect(failure)
                    // Deferred: the attempts of all waiting requests may fail at once, and would recurse.
                    self.worker.eventLoop.assumeIsolated().execute { self.freeSlot() }
                    completion(.failure(failure))
                }
            }
    }

    // MARK: Health of the address

    /// The time between two tries of an address that refuses connections, and the time that a due probe waits for a
    /// suitable request; nanoseconds.
    private static let probeInterval: Int64 = 1_000_000_000

    /// Whether the address is not set aside.
    var isHealthy: Bool { (health?.isUp ?? true) && circuit.isClosed }

    /// Closes the circuit if a health check has passed after the time aside was over.
    func closeCircuitIfChecksPass() {
        guard !circuit.isClosed, let health, health.isUp else { return }
        change { $0.passedProbe(at: health.passedAt) }
    }

    /// When it failed last; nanoseconds of the worker's clock.
    var failedAt: Int64 { circuit.failedAt }

    /// Whether a request may be the probe that ends the address's time aside. With health checks these are the probes.
    func mayBeProbed(now: Int64) -> Bool { health == nil && circuit.isDue(now: now) && probe == nil }

    func responded() {
        guard circuit.failedAt != 0 else { return }
        change { $0.responded() }
    }

    /// - Parameter now: nanoseconds of the worker's clock.
    func failed(_ failure: Circuit.Failure, now: Int64) {
        change { $0.failed(failure, now: now) }
    }

    func failedToConnect(_ failure: ConnectFailure) {
        let now = worker.now
        switch failure {
        case .refused:
            triedAt = now
            failed(.refused, now: now)
        case .unreachable: failed(.unreachable, now: now)
        // The address is not at fault.
        case .exhausted: break
        }
    }

    /// Any response counts as success, including one that rejects `OPTIONS` (RFC 9110 §9.3.7).
    private func sendProbe() {
        guard !isBeingProbed else { return }
        isBeingProbed = true
        let host = endpoint.tls == nil ? endpoint.address.authority : endpoint.host
        let request = "OPTIONS * HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
        let status = worker.eventLoop.makePromise(of: Int.self)
        endpoint.send(request, within: settings.probeTimeout, status)
        status.futureResult.assumeIsolated().whenComplete { result in
            self.isBeingProbed = false
            let now = self.worker.now
            switch result {
            case .success: self.change { $0.passedProbe(at: now) }
            case .failure(let error):
                if ConnectFailure(error) != .exhausted { self.failed(.noResponse, now: now) }
            }
        }
    }

    private func change(_ body: (inout Circuit) -> Void) {
        let before = circuit
        body(&circuit)
        guard circuit != before else { return }
        probe = nil
        guard circuit.isClosed != before.isClosed, !isRetired else { return }
        if circuit.isClosed {
            setAside.decrement()
        } else {
            setAside.increment()
            worker.gateway.metrics.setAside.increment()
        }
        worker.gateway.logger.notice(
            circuit.isClosed ? "upstream answers again" : "upstream set aside",
            metadata: ["address": "\(endpoint.address.authority)"])
    }
}
