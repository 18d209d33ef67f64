import Instruments
import Synchronization

/// The metrics of one route, by the names that Gatehouse's other services use.
final class RouteMetrics: Sendable {
    private let name: String
    private let requests = Mutex<[Int: Counter]>([:])
    private let durations = Mutex<[UInt8: DurationHistogram]>([:])

    private let upstreamDuration: DurationHistogram
    private let tokenCacheHits: Counter
    private let tokenCacheMisses: Counter

    init(_ name: String) {
        self.name = name
        upstreamDuration = DurationHistogram(
            "gatehouse_gateway_upstream_duration_seconds",
            help: "From a request's way to its upstream to the head of the response.", labels: [("route", name)])
        func lookups(_ result: String) -> Counter {
            Counter(
                "gatehouse_gateway_token_cache_lookups_total",
                help: "Bearers that were accepted, by whether they were in the cache of verified tokens.",
                labels: [("result", result), ("route", name)])
        }
        tokenCacheHits = lookups("hit")
        tokenCacheMisses = lookups("miss")
    }

    /// - Parameter nanoseconds: from the request's way to the upstream to the head of the response.
    func recordUpstream(nanoseconds: Int64) { upstreamDuration.record(nanoseconds: nanoseconds) }

    /// Tokens that an event loop has found in its cache since it told last, and those that it had to verify.
    func recordTokens(cached: Int, verified: Int) {
        if cached > 0 { tokenCacheHits.increment(by: cached) }
        if verified > 0 { tokenCacheMisses.increment(by: verified) }
    }

    /// - Parameter nanoseconds: from the request's head to the end of its response.
    func record(method: MethodSet, status: Int, nanoseconds: Int64) {
        let duration = durations.withLock { durations in
            if let duration = durations[method.rawValue] { return duration }
            let duration = DurationHistogram(
                "http_server_request_duration_seconds", help: "How long requests took to be answered.",
                labels: [("method", method.description), ("route", name)])
            durations[method.rawValue] = duration
            return duration
        }
        counter(method, status).increment()
        duration.record(nanoseconds: nanoseconds)
    }

    /// Counts responses of that status from 0.
    func declare(_ method: MethodSet, _ status: Int) { _ = counter(method, status) }

    private func counter(_ method: MethodSet, _ status: Int) -> Counter {
        requests.withLock { requests in
            let key = status << 8 | Int(method.rawValue)
            if let counter = requests[key] { return counter }
            let counter = Counter(
                "http_server_requests_total", help: "Requests that were answered, by route and status.",
                labels: [("method", method.description), ("route", name), ("status", "\(status)")])
            requests[key] = counter
            return counter
        }
    }
}
