import NIOCore

/// The other end of a client's connection, and how it counts against the limits: for one HTTP/1.1 connection, or for
/// all streams of one HTTP/2 connection.
final class ClientPeer {
    private let gateway: Gateway
    /// Whether the connection is carried by TLS.
    let isSecure: Bool
    /// Whether its connection speaks HTTP/2.
    var isHTTP2 = false
    private(set) var address: ClientAddress
    /// Whether `address`, if it is a trusted proxy, has seen the requests' fields.
    private var readsFields = true
    /// Whether too many connections were open when this one was accepted.
    private(set) var isOverLimit: Bool
    /// The address that this connection counts for among the open connections.
    private var countedAs: AddressKey
    let place: ConnectionPlace
    private var requests = 0
    /// Requests that have an exchange, or wait for keys or a place.
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
        place = ConnectionPlace(channel, now: now)
        isOverLimit = gateway.openConnections.enter(
            place, of: address.key, isCapped: !gateway.settings.trustedProxies.contains(address), now: now)
    }

    /// The connection is closed.
    func left() { gateway.openConnections.leave(place, of: countedAs) }

    /// A trusted proxy has reported the source of the connection.
    func comes(from source: ProxyHeader.Source) {
        switch source {
        case .client(let address):
            self.address = address
            if gateway.openConnections.move(place, from: countedAs, to: address.key) { isOverLimit = true }
            countedAs = address.key
        case .proxy: break
        // The proxy has not seen the requests, so `X-Forwarded-For` is the client's own.
        case .unknown: readsFields = false
        }
    }

    /// Whether the requests' fields name the client, and are trusted.
    var isTrustedProxy: Bool { readsFields && gateway.settings.trustedProxies.contains(address) }

    func countRequest() { requests += 1 }

    func requestBegins() {
        activeRequests += 1
        place.becomesBusy()
    }

    func requestEnds() { activeRequests -= 1 }

    /// Allows the connection to be closed in favour of another, unless a request is active.
    func noteIdle(at now: Int64) {
        if activeRequests == 0 { place.becomesIdle(at: now, hasOutput: openStreams > 0) }
    }

    /// Counts a request that could not be read against the limits of its connection and of its address.
    func countMalformed(now: Int64) {
        countRequest()
        _ = gateway.addressLimiter?.take(address.key, now: now)
    }

    /// Whether the connection has carried as many requests as one connection may.
    var hasHadAllRequests: Bool { requests >= gateway.settings.maximumRequestsPerConnection }
}
