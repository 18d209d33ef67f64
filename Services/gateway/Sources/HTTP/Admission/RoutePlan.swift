/// What a route means on one event loop.
final class RoutePlan {
    let route: Route
    /// `nil`: the gateway responds itself.
    let balancer: LoadBalancer?
    /// The places that its upstream may have.
    let share: RequestPlaces.Share?
    /// Whether a 502, 503 or 504 counts against the upstream's address. Gatehouse's own services respond so by contract.
    let blamesErrorStatus: Bool
    let metrics: RouteMetrics
    /// Shared with the other event loops; `nil`: only what holds for every route.
    let limiter: RouteLimiter?
    /// The lines that every head to the upstream has.
    let upstreamLines: [UInt8]
    let timeout: Int64
    /// Tokens that were found in the cache, and those that were verified, since they were told last.
    private var tokens = (cached: 0, verified: 0)

    init(
        route: Route, upstream: Upstream?, balancer: LoadBalancer?, share: RequestPlaces.Share?, metrics: RouteMetrics,
        limiter: RouteLimiter?
    ) {
        self.route = route
        self.balancer = balancer
        self.share = share
        blamesErrorStatus = upstream.map { !$0.isGatehouse } ?? false
        self.metrics = metrics
        self.limiter = limiter
        timeout = route.timeout.nanoseconds
        upstreamLines = Array((upstream?.lines ?? "").utf8)
    }

    func countToken(cached: Bool) {
        if cached { tokens.cached += 1 } else { tokens.verified += 1 }
    }

    /// Tells the metrics what was counted here, so that no request pays for it.
    func report() {
        guard tokens.cached + tokens.verified > 0 else { return }
        metrics.recordTokens(cached: tokens.cached, verified: tokens.verified)
        tokens = (0, 0)
    }
}
