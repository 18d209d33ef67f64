import GatehouseServiceKit

/// Limits and times of the data path.
struct GatewaySettings: Sendable {
    var trustedProxies = TrustedProxies()
    /// Whether every connection comes from a trusted proxy that speaks the PROXY protocol.
    var expectsProxyHeader = false
    /// Names of fields that are not forwarded, in addition to the gateway's own list.
    var droppedFields: [[UInt8]] = []
    /// The maximum of open client connections in this process; further ones are refused.
    var maximumConnections = 20_000
    /// The part of these for one IPv4 address or IPv6 /48; trusted proxies may have more.
    var maximumConnectionsPerNetwork = 15_000
    /// New connections of one IPv4 address or IPv6 /48, each of which may cost a TLS handshake. `nil`: no limit.
    var connectionLimit: RateLimit? = RateLimit(capacity: 2_000, perSecond: 200)
    /// For a connection beyond either limit to send its request, which is refused.
    var overLimitTimeout = Duration.seconds(1)
    /// Requests after which a connection is closed. The next connection may go to another event loop.
    var maximumRequestsPerConnection = 10_000
    /// The maximum of requests in flight in this process; further ones are refused at once.
    var maximumRequestsInFlight = 4_096
    /// The part of these for one address, so that no address can take all.
    var maximumRequestsInFlightPerAddress = 2_048
    /// The part of these that have a password hashed. It is less than identity's own limit, so that a flood of sign-ins
    /// is refused here, where it costs almost nothing.
    var maximumPasswordsInFlight = 48
    /// How many requests a network may have in flight on routes that count rejections, once it exceeds
    /// `rejectionLimit`.
    var maximumRequestsPerRejectedNetwork = 8
    /// The maximum of open WebSockets and event streams in this process; further ones are refused.
    var maximumWebSockets = 4_096
    /// The part of these for one IPv4 address or IPv6 /48, so that no network can take all.
    var maximumWebSocketsPerNetwork = 2_048
    /// Connections to each address of an upstream, on each event loop.
    var maximumUpstreamConnections = 1_024
    /// Verified tokens that each event loop remembers.
    var tokenCacheCapacity = 10_000
    /// From the first byte of a head to its last.
    var headTimeout = Duration.seconds(10)
    /// For a request whose token names an unknown key, while the keys are fetched.
    var keyTimeout = Duration.seconds(6)
    /// For a request in a queue: with a password, or from a network that exceeds `rejectionLimit`.
    var queueTimeout = Duration.seconds(1)
    /// For the first 64 KiB of a request's body, or the whole of a shorter one, before a connection to an upstream is
    /// taken.
    var bufferingTime = Duration.seconds(1)
    /// Bytes of request bodies that may wait for upstreams in this process, besides a small amount for each.
    var maximumWaitingInput = 64 << 20
    /// Bytes per second of a body that have to arrive on average, besides what a route's timeout permits in any case.
    var minimumBodyRate = 512
    /// Bytes per second of a response that a client has to take on average, while any wait for it.
    var minimumResponseRate = 512
    /// Until a client that takes no bytes of a response loses its connection.
    var responseTimeout = Duration.seconds(60)
    /// Bytes of responses that may wait for clients in this process, besides a small amount for each.
    var maximumWaitingOutput = 64 << 20
    /// For a connection without a request.
    var idleTimeout = Duration.seconds(75)
    /// For a response of which no further part arrives.
    var streamTimeout = Duration.seconds(300)
    /// For a client to read its last response before its connection is closed.
    var lingerTimeout = Duration.seconds(2)
    /// The same for a client that goes on sending, or whose system is still receiving.
    var longestLinger = Duration.seconds(20)
    var connectTimeout = Duration.seconds(1)
    /// For an address that is set aside to respond to a probe.
    var probeTimeout = Duration.seconds(2)
    /// The share of requests that may be retried, besides a few.
    var retryShare = 0.2
    /// Below the keep-alive of upstream servers, so that they seldom close a connection that is being used.
    var upstreamIdleTimeout = Draining.longestIdle
    /// `nil`: no limit.
    var addressLimit: RateLimit? = RateLimit(capacity: 6_000, perSecond: 2_000)
    var userLimit: RateLimit? = RateLimit(capacity: 1_000, perSecond: 200)
    var signInLimit: RateLimit? = RateLimit(capacity: 600, perSecond: 20)
    /// Of rejections: 4xx responses and slow bodies, on routes that count them (refresh).
    var rejectionLimit: RateLimit? = RateLimit(capacity: 300, perSecond: 5)
    /// The share of responses that are logged. Responses with 5xx are always logged.
    var accessLogShare = 0.0
    /// Whether a client's `traceparent` decides that a trace is recorded.
    var followsClientTraces = false
    /// Whether the limits of the routes file apply.
    var limitsRoutes = true

    /// The longest time that this many bytes of a body may take; nanoseconds.
    func longestTime(ofBody bytes: Int) -> Int64 {
        // The nanoseconds of a large body may overflow.
        Int64(min(Double(bytes) / Double(minimumBodyRate) * 1e9, 0x1p62))
    }
}
