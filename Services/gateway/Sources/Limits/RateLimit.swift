// Pure: no I/O, no clock.

import GatehouseLimits

/// A limit of requests: a burst of `capacity`, refilled at `perSecond`.
struct RateLimit: Sendable, Equatable {
    /// A request exceeds the limit.
    struct Excess: Sendable, Equatable {
        /// When the request would be admitted.
        let retryAfter: Duration
        /// The limit that is used up.
        let limit: RateLimit
    }

    let perSecond: Double
    /// The rule of each bucket. Its times are nanoseconds: some networks get a token back in less than a microsecond.
    let bucket: TokenBucket

    init(capacity: Int, perSecond: Double) {
        self.perSecond = perSecond
        bucket = TokenBucket(capacity: capacity, refillPerSecond: perSecond, unit: .nanoseconds)
    }

    var capacity: Int { bucket.capacity }

    /// The same limit for `factor` clients together.
    func times(_ factor: Int) -> RateLimit {
        RateLimit(capacity: capacity * factor, perSecond: perSecond * Double(factor))
    }
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// The limit of one route: for each user, or for each address of requests without a user.
struct RouteLimiter: Sendable {
    let users: RateLimiter<UserKey>
    let addresses: AddressLimiter

    var limit: RateLimit { users.limit }

    /// - Returns: `nil` when the request is admitted.
    func take(user: UserKey?, address: AddressKey, now: Int64) -> RateLimit.Excess? {
        guard let user else { return addresses.take(address, now: now) }
        return users.take(user, now: now).map { .init(retryAfter: $0, limit: limit) }
    }
}

/// One limit by address: of each IPv4 address or IPv6 /64, and of the IPv6 networks around it.
///
/// A household often has a /56 with 256 networks of /64, a site a /48 with 65,536. Such a network gets more than the
/// allowance of one /64, and less than the sum of all.
struct AddressLimiter: Sendable {
    /// The networks besides a /64, and their multiples of its allowance.
    static let networks: [(bits: Int, times: Int)] = [(56, 8), (48, 64)]

    let limit: RateLimit
    private let own: RateLimiter<AddressKey>
    private let wider: [(bits: Int, limiter: RateLimiter<AddressKey>)]

    /// - Parameter make: makes the limiter of one kind of network. The name distinguishes it and is empty for
    ///   addresses.
    init(
        _ limit: RateLimit,
        make: (RateLimit, _ name: String) -> RateLimiter<AddressKey> = { limit, _ in RateLimiter(limit) }
    ) {
        self.limit = limit
        own = make(limit, "")
        wider = Self.networks.map { bits, times in (bits, make(limit.times(times), "/\(bits)")) }
    }

    /// Takes one request from all limiters. The first that has none left refuses it.
    ///
    /// - Returns: `nil` when the request is admitted.
    func take(_ address: AddressKey, now: Int64) -> RateLimit.Excess? {
        // The networks come first: once one exceeds its limit, its addresses get no buckets. They are only read here,
        // so that a request that its own address refuses costs its neighbours nothing.
        if let excess = excessOfNetworks(address, now: now) { return excess }
        if let wait = own.take(address, now: now) { return .init(retryAfter: wait, limit: limit) }
        for (bits, limiter) in wider {
            guard let network = address.network(ofBits: bits) else { break }
            if let wait = limiter.take(network, now: now) { return .init(retryAfter: wait, limit: limiter.limit) }
        }
        return nil
    }

    /// What `take` would return, without counting a request.
    func excess(of address: AddressKey, now: Int64) -> RateLimit.Excess? {
        excessOfNetworks(address, now: now)
            ?? own.delay(of: address, now: now).map { .init(retryAfter: $0, limit: limit) }
    }

    private func excessOfNetworks(_ address: AddressKey, now: Int64) -> RateLimit.Excess? {
        for (bits, limiter) in wider {
            guard let network = address.network(ofBits: bits) else { return nil }
            if let wait = limiter.delay(of: network, now: now) { return .init(retryAfter: wait, limit: limiter.limit) }
        }
        return nil
    }
}
