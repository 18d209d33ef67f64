import Logging
import Observability
import Synchronization
import TokenValidation

/// What all event loops share.
final class Gateway: Sendable {
    let settings: GatewaySettings
    let routes: RouteStore
    let names: UpstreamNames
    let health: HealthChecker
    let keys: KeyStore<TrustedIssuer>
    let revoked: RevokedSessions
    let addressLimiter: AddressLimiter?
    let userLimiter: RateLimiter<UserKey>?
    let signInLimiter: AddressLimiter?
    /// Of refreshes that were refused.
    let failureLimiter: AddressLimiter?
    let metrics = GatewayMetrics()
    /// `nil`: no trace is recorded.
    let tracing: Tracing?
    let logger: Logger
    let openConnections: OpenConnections
    /// Of new connections, each of which may cost a TLS handshake.
    let connectionLimiter: AddressLimiter?
    let places: RequestPlaces
    /// Of requests that wait for keys, apart from upstreams: a partner's key server that hangs takes no place of theirs.
    let keyWaits = RequestPlaces.Share(isGatehouse: false)
    let partnerKeyWaits = RequestPlaces.Share(isGatehouse: false)
    /// Of requests that wait to have a password hashed.
    let passwordWaits = RequestPlaces.Share(isGatehouse: true)
    let passwords: OrderedPlaces
    /// Of requests that wait because their address has had many refusals.
    let refusedWaits = RequestPlaces.Share(isGatehouse: true)
    /// Of requests from addresses that have had more refusals than they may.
    let refusedNetworks: NetworkPlaces
    /// Open WebSockets and event streams.
    let streams = CountedPlaces()
    let output: BufferBudget.Shared
    let requestBodies: BufferBudget.Shared
    private let draining = Atomic<Bool>(false)

    /// - Parameters:
    ///   - limits: makes the limits.
    ///   - tracing: records traces; `nil`: none are.
    init(
        settings: GatewaySettings, routes: RouteStore, names: UpstreamNames, keys: KeyStore<TrustedIssuer>,
        revoked: RevokedSessions, logger: Logger, limits: SharedLimits = SharedLimits(), tracing: Tracing? = nil
    ) {
        self.tracing = tracing
        self.settings = settings
        self.routes = routes
        self.names = names
        health = HealthChecker(logger: logger)
        self.keys = keys
        self.revoked = revoked
        self.logger = logger
        openConnections = OpenConnections(
            limit: ConnectionLimit(settings.maximumConnections),
            limitPerNetwork: settings.maximumConnectionsPerAddress,
            onClosing: { [metrics] in metrics.countRefusal("connections") })
        // Connections cost this process alone, so replicas do not share the count.
        connectionLimiter = settings.connectionLimit.map { SharedLimits().addressLimiter($0, "connections") }
        places = RequestPlaces(
            limit: settings.maximumRequestsInFlight, addressLimit: settings.maximumRequestsInFlightPerAddress)
        passwords = OrderedPlaces(limit: settings.maximumPasswordsInFlight)
        refusedNetworks = NetworkPlaces(limit: settings.maximumRequestsOfRefusedNetwork)
        output = BufferBudget.Shared(limit: settings.maximumWaitingOutput)
        requestBodies = BufferBudget.Shared(limit: settings.maximumWaitingInput)
        addressLimiter = settings.addressLimit.map { limits.addressLimiter($0, "address") }
        userLimiter = settings.userLimit.map { limits.limiter($0, "user") }
        signInLimiter = settings.signInLimit.map { limits.addressLimiter($0, "sign-in") }
        failureLimiter = settings.failureLimit.map { limits.addressLimiter($0, "failures") }
    }

    /// Whether the process is about to end: every response is the last of its connection.
    var isDraining: Bool {
        get { draining.load(ordering: .relaxed) }
        set { draining.store(newValue, ordering: .relaxed) }
    }

    /// Counts a new connection before its TLS handshake.
    ///
    /// - Returns: whether its address opens connections slowly enough.
    func admitsConnection(from address: ClientAddress, now: Int64) -> Bool {
        guard let connectionLimiter, !settings.trustedProxies.contains(address),
            connectionLimiter.take(address.key, now: now) != nil
        else { return true }
        metrics.countRefusal("connection rate")
        return false
    }

    /// Whether requests with a bearer would be served.
    func isReady(now: Int64) -> Bool {
        !isDraining && keys.isUsable(now: now) && revoked.isUsable(now: now)
    }
}
