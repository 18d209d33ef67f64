import Foundation
import Logging
import Redis
import Synchronization

/// What all event loops share.
final class Gateway: Sendable {
    let settings: GatewaySettings
    let routes: RouteStore
    let names: UpstreamNames
    let keys: KeyStore
    let revoked: RevokedSessions
    let addressLimiter: RateLimiter<AddressKey>?
    let userLimiter: RateLimiter<UUID>?
    let signInLimiter: RateLimiter<AddressKey>?
    /// Of refreshes that were refused.
    let failureLimiter: RateLimiter<AddressKey>?
    /// `nil`: each replica counts alone.
    let sharedSignInLimit: SharedLimit?
    let metrics = GatewayMetrics()
    let logger: Logger
    let connectionLimit: ConnectionLimit
    let openConnections = Atomic<Int>(0)
    let connectionsByAddress: ConnectionCounts
    private let draining = Atomic<Bool>(false)

    /// - Parameter sharing: gives, for a limit, the bucket that all replicas share.
    init(
        settings: GatewaySettings, routes: RouteStore, names: UpstreamNames, keys: KeyStore, revoked: RevokedSessions,
        logger: Logger,
        sharing: (RateLimit) -> RedisTokenBucket? = { _ in nil }
    ) {
        self.settings = settings
        self.routes = routes
        self.names = names
        self.keys = keys
        self.revoked = revoked
        self.logger = logger
        connectionLimit = ConnectionLimit(settings.maximumConnections)
        connectionsByAddress = ConnectionCounts(limit: settings.maximumConnectionsPerAddress)
        addressLimiter = settings.addressLimit.map(RateLimiter.init)
        userLimiter = settings.userLimit.map(RateLimiter.init)
        failureLimiter = settings.failureLimit.map(RateLimiter.init)
        signInLimiter = settings.signInLimit.map(RateLimiter.init)
        if let limit = settings.signInLimit, let local = signInLimiter, let shared = sharing(limit) {
            sharedSignInLimit = SharedLimit(local: local, shared: shared)
        } else {
            sharedSignInLimit = nil
        }
    }

    /// Whether the process is about to end: every answer is the last of its connection.
    var isDraining: Bool {
        get { draining.load(ordering: .relaxed) }
        set { draining.store(newValue, ordering: .relaxed) }
    }

    /// Whether requests with a bearer would be served.
    func isReady(now: Int64) -> Bool {
        !isDraining && keys.isUsable(now: now) && revoked.isUsable(now: now)
    }
}
