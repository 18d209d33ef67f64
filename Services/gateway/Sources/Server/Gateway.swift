import GatehouseObservability
import GatehouseTokenValidation
import Logging
import Synchronization

/// The state that all event loops share.
final class Gateway: Sendable {
    let settings: GatewaySettings
    let routes: CurrentRoutes
    let names: UpstreamNames
    let health: HealthChecker
    let keys: IssuerKeys<TrustedIssuer>
    let revoked: RevokedSessions
    let addressLimiter: AddressLimiter?
    let userLimiter: RateLimiter<UserKey>?
    let signInLimiter: AddressLimiter?
    /// The limit of rejections (4xx responses and slow bodies) on routes that count them (refresh). `RateLimit-Policy`
    /// calls it `failures`.
    let rejectionLimiter: AddressLimiter?
    let metrics = GatewayMetrics()
    /// `nil`: no trace is recorded.
    let tracer: GatehouseTracer?
    let logger: Logger
    let openConnections: OpenConnections
    /// The limit of new connections, each of which may cost a TLS handshake: by IPv4 address or IPv6 /48.
    let connectionLimiter: RateLimiter<AddressKey>?
    let permits: RequestPermits
    /// The share of requests that wait for keys, apart from upstreams: a key server that hangs takes none of their
    /// permits.
    let keyWaits = RequestPermits.Share(isGatehouse: false)
    /// The same on routes that accept further issuers, whose key servers may hang.
    let furtherIssuerKeyWaits = RequestPermits.Share(isGatehouse: false)
    /// The share of requests that wait to have a password hashed.
    let passwordWaits = RequestPermits.Share(isGatehouse: true)
    let passwords: OrderedPermits
    /// The share of requests that wait because their network exceeds the limit of rejections.
    let rejectedWaits = RequestPermits.Share(isGatehouse: true)
    /// The permits of requests from networks that exceed the limit of rejections.
    let rejectedNetworks: NetworkPermits
    /// The permits of open WebSockets and event streams.
    let streams: StreamPermits
    let output: BufferBudget.Shared
    let requestBodies: BufferBudget.Shared
    private let isStopping: @Sendable () -> Bool
    private let draining = Atomic<Bool>(false)

    /// - Parameters:
    ///   - limits: makes the limits.
    ///   - tracer: records traces; `nil`: none are.
    ///   - isStopping: whether the process is shutting down. It is called for each response, and becomes true some time
    ///     before the server receives the graceful shutdown.
    init(
        settings: GatewaySettings, routes: CurrentRoutes, names: UpstreamNames, keys: IssuerKeys<TrustedIssuer>,
        revoked: RevokedSessions, logger: Logger, limits: SharedLimits = SharedLimits(), tracer: GatehouseTracer? = nil,
        isStopping: @escaping @Sendable () -> Bool = { false }
    ) {
        self.tracer = tracer
        self.isStopping = isStopping
        self.settings = settings
        self.routes = routes
        self.names = names
        health = HealthChecker(logger: logger)
        self.keys = keys
        self.revoked = revoked
        self.logger = logger
        openConnections = OpenConnections(
            limit: ConnectionLimit(settings.maximumConnections),
            limitPerNetwork: settings.maximumConnectionsPerNetwork,
            onClosing: { [metrics] in metrics.countRefusal("connections") })
        // Connections cost this process alone, so replicas do not share the count.
        connectionLimiter = settings.connectionLimit.map { SharedLimits().limiter($0, "connections") }
        permits = RequestPermits(
            limit: settings.maximumRequestsInFlight, addressLimit: settings.maximumRequestsInFlightPerAddress)
        streams = StreamPermits(
            limit: settings.maximumWebSockets, networkLimit: settings.maximumWebSocketsPerNetwork)
        passwords = OrderedPermits(limit: settings.maximumPasswordsInFlight)
        rejectedNetworks = NetworkPermits(limit: settings.maximumRequestsPerRejectedNetwork)
        output = BufferBudget.Shared(limit: settings.maximumWaitingOutput)
        requestBodies = BufferBudget.Shared(limit: settings.maximumWaitingInput)
        addressLimiter = settings.addressLimit.map { limits.addressLimiter($0, "address") }
        userLimiter = settings.userLimit.map { limits.limiter($0, "user") }
        signInLimiter = settings.signInLimit.map { limits.addressLimiter($0, "sign-in") }
        rejectionLimiter = settings.rejectionLimit.map { limits.addressLimiter($0, "failures") }
        routes.onChange { [unowned routes, metrics] in
            for route in routes.table.routes { metrics.declare(route) }
        }
    }

    /// Whether the process is shutting down: every response is then the last of its connection.
    var isDraining: Bool {
        get { draining.load(ordering: .relaxed) || isStopping() }
        set { draining.store(newValue, ordering: .relaxed) }
    }

    /// Counts a new connection before its TLS handshake.
    ///
    /// - Returns: whether its network stays within the rate of new connections.
    func admitsConnection(from address: ClientAddress, now: Int64) -> Bool {
        if let connectionLimiter, !settings.trustedProxies.contains(address),
            connectionLimiter.take(address.key.connectionNetwork, now: now) != nil
        {
            metrics.countRefusal("connection rate")
            return false
        }
        return true
    }

    /// Whether requests with a bearer would be served.
    func isReady(now: Int64) -> Bool {
        !isDraining && keys.isUsable(now: now) && revoked.isUsable(now: now)
    }
}
