import Instruments
import Synchronization

/// Requests and durations of a service, by route template and never by path.
package struct RouteMetrics: Sendable {
    /// What one route and method has counted.
    private final class Route: Sendable {
        let duration: DurationHistogram
        private let route: String
        private let method: String
        private let requests = Mutex<[Int: Counter]>([:])

        init(route: String, method: String) {
            self.route = route
            self.method = method
            duration = DurationHistogram(
                "http_server_request_duration_seconds", help: "How long requests took to be answered.",
                labels: [("method", method), ("route", route)])
            for status in [500, 503] { _ = counter(status) }
        }

        func count(_ status: Int) { counter(status).increment() }

        /// The failures that any route may answer are counted from 0, so that their first is seen too.
        private func counter(_ status: Int) -> Counter {
            requests.withLock { requests in
                if let counter = requests[status] { return counter }
                let counter = Counter(
                    "http_server_requests_total", help: "Requests that were answered, by route and status.",
                    labels: [("method", method), ("route", route), ("status", String(status))])
                requests[status] = counter
                return counter
            }
        }
    }

    private let routes: [String: [String: Route]]
    private let unknown = Route(route: "unknown", method: "unknown")

    /// - Parameter methods: the registered methods by path template.
    package init(methods: [String: Set<String>]) {
        routes = methods.reduce(into: [:]) { routes, entry in
            routes[entry.key] = Dictionary(
                uniqueKeysWithValues: entry.value.map { ($0, Route(route: entry.key, method: $0)) })
        }
    }

    package func record(route: String?, method: String, status: Int, duration: Duration) {
        let route = route.flatMap { routes[$0]?[method] } ?? unknown
        route.duration.record(duration)
        route.count(status)
    }
}
