import Synchronization

/// The other end of a client's connection, and how it counts against the limits: of one HTTP/1.1 connection, or of all
/// streams of one HTTP/2 connection.
final class ClientPeer {
    private let gateway: Gateway
    /// Whether it is TLS that carries it.
    let isSecure: Bool
    /// Whether its connection speaks HTTP/2.
    var isHTTP2 = false
    private(set) var address: ClientAddress
    /// Whether `address`, where it is a trusted proxy, has seen the requests' fields.
    private var readsFields = true
    /// Whether there were too many connections already when this one came.
    private(set) var isOverLimit: Bool
    /// By which it counts among the connections of its address.
    private var countedAs: AddressKey?
    private var requests = 0

    init(_ address: ClientAddress, gateway: Gateway, isSecure: Bool) {
        self.gateway = gateway
        self.isSecure = isSecure
        self.address = address
        let open = gateway.openConnections.wrappingAdd(1, ordering: .relaxed).newValue
        isOverLimit = open > gateway.connectionLimit.soft
        if !gateway.settings.trustedProxies.contains(address) { count(address) }
    }

    /// Its connection is closed.
    func left() {
        gateway.openConnections.wrappingSubtract(1, ordering: .relaxed)
        if let countedAs { gateway.connectionsByAddress.leave(countedAs) }
    }

    /// A proxy that is believed has told whose connection it is.
    func comes(from source: ProxyHeader.Source) {
        switch source {
        case .client(let address):
            self.address = address
            count(address)
        case .proxy: break
        // The proxy has not looked at the requests, so `X-Forwarded-For` is the client's own.
        case .unknown: readsFields = false
        }
    }

    /// Whether the requests' fields tell who sent them, and are believed.
    var saysForWhom: Bool { readsFields && gateway.settings.trustedProxies.contains(address) }

    private func count(_ address: ClientAddress) {
        countedAs = address.key
        if gateway.connectionsByAddress.enter(address.key) { isOverLimit = true }
    }

    func countRequest() { requests += 1 }

    /// Counts a request that could not be read, against the limits of its connection and of its address.
    func countMalformed(now: Int64) {
        countRequest()
        _ = gateway.addressLimiter?.take(address.key, now: now)
    }

    /// Whether the connection has carried as many requests as one may.
    var hasHadAllRequests: Bool { requests >= gateway.settings.maximumRequestsPerConnection }
}
