import Metrics
import Synchronization

/// The metrics of one route, by the names that Gatehouse's other services use.
final class RouteMetrics: Sendable {
    private let name: String
    private let requests = Mutex<[Int: Counter]>([:])
    private let durations = Mutex<[UInt8: Timer]>([:])

    private let upstreamDuration: Timer
    private let tokenCacheHits: Counter
    private let tokenCacheMisses: Counter

    init(_ name: String) {
        self.name = name
        upstreamDuration = Timer(label: "gatehouse_gateway_upstream_duration", dimensions: [("route", name)])
        let label = "gatehouse_gateway_token_cache"
        tokenCacheHits = Counter(label: label, dimensions: [("result", "hit"), ("route", name)])
        tokenCacheMisses = Counter(label: label, dimensions: [("result", "miss"), ("route", name)])
    }

    /// - Parameter nanoseconds: from the request's way to the upstream to the head of the response.
    func recordUpstream(nanoseconds: Int64) { upstreamDuration.recordNanoseconds(nanoseconds) }

    /// Tokens that an event loop has found in its cache since it told last, and those that it had to verify.
    func recordTokens(cached: Int, verified: Int) {
        if cached > 0 { tokenCacheHits.increment(by: cached) }
        if verified > 0 { tokenCacheMisses.increment(by: verified) }
    }

    /// - Parameter nanoseconds: from the request's head to the end of its response.
    func record(method: MethodSet, status: Int, nanoseconds: Int64) {
        let counter = requests.withLock { requests in
            let key = status << 8 | Int(method.rawValue)
            if let counter = requests[key] { return counter }
            let counter = Counter(
                label: "http_server_requests",
                dimensions: [("method", method.description), ("route", name), ("status", "\(status)")])
            requests[key] = counter
            return counter
        }
        let duration = durations.withLock { durations in
            if let duration = durations[method.rawValue] { return duration }
            let duration = Timer(
                label: "http_server_request_duration", dimensions: [("method", method.description), ("route", name)])
            durations[method.rawValue] = duration
            return duration
        }
        counter.increment()
        duration.recordNanoseconds(nanoseconds)
    }
}
