import GatehouseInstruments
import GatehouseObservability
import GatehouseServiceContracts
import Synchronization

/// The gateway's metrics, labelled by route and never by values that a client chooses.
final class GatewayMetrics: Sendable {
    private let routes = Mutex<[String: RouteMetrics]>([:])
    private let refusals = Mutex<[Refusal: Counter]>([:])
    private let addresses = Mutex<[String: (setAside: Gauge, users: Int)]>([:])
    let setAside = Counter(
        "gatehouse_gateway_upstream_set_aside_total", help: "How often an event loop set an upstream's address aside.")
    /// Requests that were retried, and those that the retry budget refused.
    let retries = GatewayMetrics.retries("sent")
    let refusedRetries = GatewayMetrics.retries("refused")
    private let setAsideEventLoops = GaugeFamily(
        "gatehouse_gateway_upstream_set_aside_event_loops",
        help: "On how many event loops an upstream's address is set aside.", labels: ["address"])
    /// Without a certificate it is not exposed.
    let certificateExpiry = GaugeFamily(
        "gatehouse_gateway_tls_certificate_expiry_timestamp_seconds",
        help: "When the server certificate expires, in seconds since 1970.")
    private let connections = Gauge("gatehouse_gateway_connections", help: "Connections of clients that are open.")

    /// Reasons of refusals without a route that indicate load or an attack. They are counted from 0, so that the first
    /// increment is visible too.
    private static let reasons = [
        "connections", "connection rate", "slow reader", "streams", "NOT_FOUND", "METHOD_NOT_ALLOWED", "RATE_LIMITED",
        "UNAVAILABLE",
    ]

    init() {
        for reason in Self.reasons { _ = refusals(reason, route: "") }
    }

    private static func retries(_ result: String) -> Counter {
        Counter(
            "gatehouse_gateway_retries_total",
            help: "Requests that were retried at another address, or not retried because the retry budget was used up.",
            labels: [("result", result)])
    }

    func route(_ name: String) -> RouteMetrics {
        routes.withLock { routes in
            if let metrics = routes[name] { return metrics }
            let metrics = RouteMetrics(name)
            routes[name] = metrics
            return metrics
        }
    }

    /// Counts from 0 the refusals that a route in force can have, so that the first increment is visible too.
    func declare(_ route: Route) {
        let metrics = self.route(route.name)
        guard case .upstream(let upstream) = route.target else { return }
        let reasons =
            ExchangeMachine.Failure.allCases.map(\.rawValue) + ["UNAVAILABLE", "RATE_LIMITED"]
            + (route.authentication == .none ? [] : ["INVALID_TOKEN", "TOKEN_EXPIRED"])
            + (route.roles.isEmpty ? [] : ["FORBIDDEN"])
            + (route.maximumAuthenticationAge == nil ? [] : ["REAUTHENTICATION_REQUIRED"])
        for reason in reasons { _ = refusals(reason, route: route.name) }
        // A route that names no methods usually receives two or three of the seven.
        guard route.methods != .all else { return }
        for method in route.methods.each {
            for status in upstream.isGatehouse ? [503] : [502, 503, 504] { metrics.declare(method, status) }
        }
    }

    /// On how many event loops the address of an upstream is set aside. Each caller releases the gauge when it no
    /// longer needs it, since the number of addresses over time is unbounded.
    func address(_ address: String) -> Gauge {
        addresses.withLock { addresses in
            let setAside = addresses[address]?.setAside ?? setAsideEventLoops.gauge(address)
            addresses[address] = (setAside, (addresses[address]?.users ?? 0) + 1)
            return setAside
        }
    }

    func forget(address: String) {
        addresses.withLock { addresses in
            guard let known = addresses[address] else { return }
            addresses[address] = known.users > 1 ? (known.setAside, known.users - 1) : nil
            if known.users == 1 { known.setAside.remove() }
        }
    }

    /// - Parameter connections: open now, in the whole process.
    func report(connections: Int) { self.connections.set(connections) }

    private struct Refusal: Hashable {
        var reason: String
        var route: String
    }

    /// Counts a request that the gateway refused by itself.
    ///
    /// - Parameter route: empty where no route was found.
    func countRefusal(_ reason: String, route: String = "") { refusals(reason, route: route).increment() }

    private func refusals(_ reason: String, route: String) -> Counter {
        let refusal = Refusal(reason: reason, route: route)
        return refusals.withLock { refusals in
            if let counter = refusals[refusal] { return counter }
            let counter = Counter(
                "gatehouse_gateway_refusals_total", help: "Requests that the gateway refused by itself, by reason.",
                labels: [("reason", reason), ("route", route)])
            refusals[refusal] = counter
            return counter
        }
    }
}

/// The metrics of one route, with the names that Gatehouse's other services use.
final class RouteMetrics: Sendable {
    private let name: String
    private let requests = Mutex<[RequestMethod: RequestMetrics]>([:])

    private let upstreamDuration: DurationHistogram
    private let tokenCacheHits: Counter
    private let tokenCacheMisses: Counter

    init(_ name: String) {
        self.name = name
        upstreamDuration = DurationHistogram(
            "gatehouse_gateway_upstream_duration_seconds",
            help: "Time from forwarding a request to the head of its response.", labels: [("route", name)])
        func lookups(_ result: String) -> Counter {
            Counter(
                "gatehouse_gateway_token_cache_lookups_total",
                help: "Accepted bearers, by whether they were in the cache of verified tokens.",
                labels: [("result", result), ("route", name)])
        }
        tokenCacheHits = lookups("hit")
        tokenCacheMisses = lookups("miss")
    }

    /// - Parameter nanoseconds: from forwarding the request to the head of the response.
    func recordUpstream(nanoseconds: Int64) { upstreamDuration.record(nanoseconds: nanoseconds) }

    /// Counts tokens that an event loop has found in its cache since the last report, and those that it had to verify.
    func recordTokens(cached: Int, verified: Int) {
        if cached > 0 { tokenCacheHits.increment(by: cached) }
        if verified > 0 { tokenCacheMisses.increment(by: verified) }
    }

    /// - Parameter nanoseconds: from the request's head to the end of its response.
    func record(method: RequestMethod, status: Int, nanoseconds: Int64) {
        requests(method).record(status: status, nanoseconds: nanoseconds)
    }

    /// Counts responses of that status from 0.
    func declare(_ method: RequestMethod, _ status: Int) { requests(method).declare(status: status) }

    private func requests(_ method: RequestMethod) -> RequestMetrics {
        requests.withLock { requests in
            if let metrics = requests[method] { return metrics }
            let metrics = RequestMetrics(route: name, method: method.description)
            requests[method] = metrics
            return metrics
        }
    }
}
