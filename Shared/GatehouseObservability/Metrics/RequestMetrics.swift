import GatehouseInstruments
import Synchronization

/// Requests of one route and method: their number by status, and their durations. The route is a template, never a
/// path.
package final class RequestMetrics: Sendable {
    private let route: String
    private let method: String
    private let durations: DurationHistogram
    private let counters = Mutex<[Int: Counter]>([:])

    package init(route: String, method: String) {
        self.route = route
        self.method = method
        durations = DurationHistogram(
            "http_server_request_duration_seconds", help: "How long requests took to be answered.",
            labels: [("method", method), ("route", route)])
    }

    /// - Parameter nanoseconds: from the request's head to the end of its response.
    package func record(status: Int, nanoseconds: Int64) {
        counter(status).increment()
        durations.record(nanoseconds: nanoseconds)
    }

    /// Counts responses of that status from 0, so that the first one is seen too.
    package func declare(status: Int) { _ = counter(status) }

    private func counter(_ status: Int) -> Counter {
        counters.withLock { counters in
            if let counter = counters[status] { return counter }
            let counter = Counter(
                "http_server_requests_total", help: "Requests that were answered, by route and status.",
                labels: [("method", method), ("route", route), ("status", "\(status)")])
            counters[status] = counter
            return counter
        }
    }
}

/// The metrics of all routes of a service.
package struct ServiceRequestMetrics: Sendable {
    private let routes: [String: [String: RequestMetrics]]
    private let unknown = Self.metrics(route: "unknown", method: "unknown")

    /// - Parameter methods: the registered methods by path template.
    package init(methods: [String: Set<String>]) {
        routes = methods.reduce(into: [:]) { routes, entry in
            routes[entry.key] = Dictionary(
                uniqueKeysWithValues: entry.value.map { ($0, Self.metrics(route: entry.key, method: $0)) })
        }
    }

    /// The failures that any route may answer are counted from 0.
    private static func metrics(route: String, method: String) -> RequestMetrics {
        let metrics = RequestMetrics(route: route, method: method)
        for status in [500, 503] { metrics.declare(status: status) }
        return metrics
    }

    package func record(route: String?, method: String, status: Int, duration: Duration) {
        let metrics = route.flatMap { routes[$0]?[method] } ?? unknown
        let (seconds, attoseconds) = duration.components
        metrics.record(status: status, nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
