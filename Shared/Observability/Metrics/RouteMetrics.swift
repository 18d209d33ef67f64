import Metrics
import Synchronization

/// Requests and durations of a service, by route template and never by path.
package struct RouteMetrics: Sendable {
    /// What one route and method has counted.
    private final class Route: Sendable {
        let duration: Timer
        private let route: String
        private let method: String
        private let requests = Mutex<[Int: Counter]>([:])

        init(route: String, method: String) {
            self.route = route
            self.method = method
            duration = Timer(
                label: "http_server_request_duration", dimensions: [("method", method), ("route", route)])
        }

        func count(_ status: Int) {
            let counter = requests.withLock { requests in
                if let counter = requests[status] { return counter }
                let counter = Counter(
                    label: "http_server_requests",
                    dimensions: [("method", method), ("route", route), ("status", String(status))])
                requests[status] = counter
                return counter
            }
            counter.increment()
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
        let (seconds, attoseconds) = duration.components
        route.duration.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        route.count(status)
    }
}
