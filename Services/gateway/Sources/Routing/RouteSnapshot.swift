import GatehouseServiceContracts
import NIOCore

/// The routes that one event loop uses until they are replaced, with that loop's pools and balancers.
///
/// A snapshot is immutable: a request keeps the routes that it was admitted with, even if others come into force.
final class RouteSnapshot {
    let table: RouteTable
    /// One for each address of an upstream.
    let pools: [UpstreamEndpoint: UpstreamPool]
    private let states: [ObjectIdentifier: RouteState]

    /// A snapshot without routes.
    init() {
        table = RouteTable()
        pools = [:]
        states = [:]
    }

    /// - Parameters:
    ///   - routes: those in force.
    ///   - names: the addresses of each host that is given as a name.
    ///   - previous: the snapshot that this one replaces. Pools of addresses in both are kept, with their connections
    ///     and health state.
    init(
        _ routes: RoutesInForce, _ names: [String: [SocketAddress]], after previous: RouteSnapshot, worker: Worker
    ) {
        let table = routes.table
        var pools: [UpstreamEndpoint: UpstreamPool] = [:]
        func pool(_ endpoint: UpstreamEndpoint) -> UpstreamPool {
            let pool = pools[endpoint] ?? previous.pools[endpoint] ?? UpstreamPool(endpoint, worker: worker)
            pools[endpoint] = pool
            return pool
        }
        var balancers: [Upstream: LoadBalancer] = [:]
        func balancer(_ upstream: Upstream) -> LoadBalancer {
            let balancer =
                balancers[upstream]
                ?? LoadBalancer(
                    upstream.endpoints(names, routes.tls).map(pool), budget: routes.shared(by: upstream).retries,
                    worker: worker)
            balancers[upstream] = balancer
            return balancer
        }
        var states: [ObjectIdentifier: RouteState] = [:]
        for route in table.routes {
            var upstream: Upstream?
            if case .upstream(let target) = route.target { upstream = target }
            states[ObjectIdentifier(route)] = RouteState(
                route: route, upstream: upstream, balancer: upstream.map(balancer),
                share: upstream.map { routes.shared(by: $0).permits },
                metrics: worker.gateway.metrics.route(route.name),
                limiter: routes.limiter(of: route))
        }
        self.table = table
        self.pools = pools
        self.states = states
        for (endpoint, pool) in previous.pools where pools[endpoint] == nil { pool.retire() }
    }

    /// - Parameter route: one of `table`. Each of those has a state.
    func state(of route: Route) -> RouteState { states[ObjectIdentifier(route)]! }

    func report() { for state in states.values { state.report() } }
}

extension Upstream {
    fileprivate func endpoints(
        _ names: [String: [SocketAddress]], _ contexts: [Authorities: UpstreamTLS]
    ) -> [UpstreamEndpoint] {
        let tls = authorities.flatMap { contexts[$0] }
        // An upstream with TLS is never contacted without it.
        guard (tls == nil) == (authorities == nil) else { return [] }
        let check = healthCheck.map { UpstreamEndpoint.Check(health: $0, lines: lines) }
        return addresses.flatMap { address in
            address.resolved(by: names).map {
                UpstreamEndpoint(
                    address: $0, host: address.isSecure ? address.host : "", tls: tls, check: check,
                    idleTimeout: idleTimeout)
            }
        }
    }
}

extension Upstream.Address {
    /// All addresses: the literal itself, or those of its name. Empty if the name is not resolved.
    func resolved(by names: [String: [SocketAddress]]) -> [SocketAddress] {
        if let literal { return [literal] }
        return (names[host] ?? []).map { address in
            var address = address
            address.port = port
            return address
        }
    }
}

/// A route on one event loop: the parts that its requests use there, and the counts since the last report.
final class RouteState {
    let route: Route
    /// `nil`: the gateway responds itself.
    let balancer: LoadBalancer?
    /// The permits of its upstream.
    let share: RequestPermits.Share?
    /// Whether a 502, 503 or 504 counts against the upstream's address. The contract of Gatehouse's own services
    /// includes these statuses.
    let errorStatusIsFault: Bool
    let metrics: RouteMetrics
    /// Shared with the other event loops; `nil`: only the limits of every route apply.
    let limiter: RouteLimiter?
    /// The lines that every head to the upstream has.
    let upstreamLines: [UInt8]
    let timeout: Int64
    /// Tokens found in the cache, and tokens verified, since the last report.
    private var tokens = (cached: 0, verified: 0)

    init(
        route: Route, upstream: Upstream?, balancer: LoadBalancer?, share: RequestPermits.Share?, metrics: RouteMetrics,
        limiter: RouteLimiter?
    ) {
        self.route = route
        self.balancer = balancer
        self.share = share
        errorStatusIsFault = upstream.map { !$0.isGatehouse } ?? false
        self.metrics = metrics
        self.limiter = limiter
        timeout = route.timeout.nanoseconds
        upstreamLines = Array((upstream?.lines ?? "").utf8)
    }

    func countToken(cached: Bool) {
        if cached { tokens.cached += 1 } else { tokens.verified += 1 }
    }

    /// Reports the counts to the metrics, so that requests need not.
    func report() {
        guard tokens.cached + tokens.verified > 0 else { return }
        metrics.recordTokens(cached: tokens.cached, verified: tokens.verified)
        tokens = (0, 0)
    }
}

extension Upstream {
    /// The lines that every head to the upstream has.
    var lines: String {
        (addresses.first.map { "Host: \($0.hostField)\r\n" } ?? "")
            + (credential.map { "\(HeaderName.credential): \($0)\r\n" } ?? "")
    }
}
