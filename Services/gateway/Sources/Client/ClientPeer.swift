import NIOCore

/// The client at the other end of a connection, and what counts against its limits. All streams of an HTTP/2 connection
/// share one peer.
final class ClientPeer {
    private let gateway: Gateway
    /// Whether the connection is carried by TLS.
    let isSecure: Bool
    /// When the connection was accepted.
    let openedAt = ContinuousClock.now
    /// Whether its connection speaks HTTP/2.
    var isHTTP2 = false
    private(set) var address: ClientAddress
    /// Whether the proxy at `address` parses HTTP. Only then are its `X-Forwarded-…` fields trusted.
    private var readsFields = true
    /// Whether too many connections were open when this one was accepted.
    private(set) var isOverLimit: Bool
    /// The address that this connection is counted under among the open connections.
    private var countedAs: AddressKey
    /// Its connection among those of the process.
    let openConnection: OpenConnection
    private var requests = 0
    /// Requests that have an exchange, or wait for keys or a permit.
    private var activeRequests = 0
    /// Open streams of HTTP/2. A stream without an active request holds a response that waits for the client.
    var openStreams = 0

    init(
        _ address: ClientAddress, on channel: (any Channel)? = nil, gateway: Gateway, isSecure: Bool, now: Int64 = 0
    ) {
        self.gateway = gateway
        self.isSecure = isSecure
        self.address = address
        countedAs = address.key
        openConnection = OpenConnection(channel, now: now)
        isOverLimit = gateway.openConnections.enter(
            openConnection, of: address.key, isCapped: !gateway.settings.trustedProxies.contains(address), now: now)
    }

    /// The connection is closed.
    func closed() { gateway.openConnections.leave(openConnection, of: countedAs) }

    /// Stores the source of the connection, as a trusted proxy has reported it.
    func setSource(_ source: ProxyHeader.Source) {
        switch source {
        case .client(let address):
            self.address = address
            if gateway.openConnections.move(openConnection, from: countedAs, to: address.key) { isOverLimit = true }
            countedAs = address.key
        case .proxy: break
        // The proxy has not seen the requests, so the client itself wrote `X-Forwarded-For`.
        case .unknown: readsFields = false
        }
    }

    /// Whether `X-Forwarded-For` and the like are trusted, because a trusted proxy has written them.
    var isTrustedProxy: Bool { readsFields && gateway.settings.trustedProxies.contains(address) }

    func countRequest() { requests += 1 }

    func requestBegins() {
        activeRequests += 1
        openConnection.markBusy()
    }

    func requestEnds() { activeRequests -= 1 }

    /// Marks the connection as one that may be closed in favour of another, unless a request is active.
    func noteIdle(at now: Int64) {
        if activeRequests == 0 { openConnection.markIdle(at: now, hasOutput: openStreams > 0) }
    }

    /// Counts a malformed request against the limits of its connection and of its address.
    func countMalformed(now: Int64) {
        countRequest()
        _ = gateway.addressLimiter?.take(address.key, now: now)
    }

    /// Whether the connection has carried as many requests as one connection may.
    var hasReachedRequestLimit: Bool { requests >= gateway.settings.maximumRequestsPerConnection }
}
