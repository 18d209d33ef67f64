import Metrics
import Synchronization

/// The gateway's metrics: by route, never by anything that a client chooses.
final class GatewayMetrics: Sendable {
    private let routes = Mutex<[String: RouteMetrics]>([:])
    private let refusals = Mutex<[String: Counter]>([:])
    let connections = Gauge(label: "gatehouse_gateway_connections")

    func route(_ name: String) -> RouteMetrics {
        routes.withLock { routes in
            if let metrics = routes[name] { return metrics }
            let metrics = RouteMetrics(name)
            routes[name] = metrics
            return metrics
        }
    }

    /// Counts a request that the gateway refused itself.
    func refused(_ reason: String) {
        refusals.withLock { refusals in
            if let counter = refusals[reason] { return counter.increment() }
            let counter = Counter(label: "gatehouse_gateway_refusals_total", dimensions: [("reason", reason)])
            refusals[reason] = counter
            counter.increment()
        }
    }
}

/// The metrics of one route.
final class RouteMetrics: Sendable {
    private let byClass: [Counter]
    private let duration: Timer

    init(_ name: String) {
        byClass = (1...5).map {
            Counter(label: "gatehouse_gateway_requests_total", dimensions: [("route", name), ("status", "\($0)xx")])
        }
        duration = Timer(label: "gatehouse_gateway_request_duration_seconds", dimensions: [("route", name)])
    }

    /// - Parameter nanoseconds: from the request's head to the end of its answer.
    func record(status: Int, nanoseconds: Int64) {
        if (100..<600).contains(status) { byClass[status / 100 - 1].increment() }
        duration.recordNanoseconds(nanoseconds)
    }
}
