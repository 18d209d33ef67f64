/// What a route means on one event loop.
final class RoutePlan {
    let route: Route
    /// `nil`: the gateway answers itself.
    let balancer: LoadBalancer?
    let metrics: RouteMetrics
    /// The lines that every head to the upstream has.
    let upstreamLines: [UInt8]
    let timeout: Int64

    init(route: Route, upstream: Upstream?, balancer: LoadBalancer?, metrics: RouteMetrics) {
        self.route = route
        self.balancer = balancer
        self.metrics = metrics
        timeout = route.timeout.nanoseconds
        let host = upstream?.addresses.first.map { "Host: \($0.authority)\r\n" } ?? ""
        upstreamLines = Array((host + (upstream?.credential.map { "Gatehouse-Credential: \($0)\r\n" } ?? "")).utf8)
    }
}
