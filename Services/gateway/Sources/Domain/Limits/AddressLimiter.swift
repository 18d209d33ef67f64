/// One limit by address: of each IPv4 address or IPv6 /64, and of the IPv6 networks around it.
///
/// A household often has a /56 with 256 networks of /64, a site a /48 with 65,536. They get more than the allowance of
/// one /64, and less than that of all.
struct AddressLimiter: Sendable {
    /// The networks besides a /64, and how many times its allowance each has.
    static let networks: [(bits: Int, times: Int)] = [(56, 8), (48, 64)]

    let limit: RateLimit
    private let own: RateLimiter<AddressKey>
    private let wider: [(bits: Int, limiter: RateLimiter<AddressKey>)]

    /// - Parameter make: makes the limiter of one kind of network; its name sets it apart and is empty for addresses.
    init(
        _ limit: RateLimit,
        make: (RateLimit, _ name: String) -> RateLimiter<AddressKey> = { limit, _ in RateLimiter(limit) }
    ) {
        self.limit = limit
        own = make(limit, "")
        wider = Self.networks.map { bits, times in (bits, make(limit.times(times), "/\(bits)")) }
    }

    /// Takes one request from all, or is refused by the first that has none left.
    ///
    /// - Returns: `nil` when the request is admitted.
    func take(_ address: AddressKey, now: Int64) -> RateLimit.Refusal? {
        // The networks come first: once one is over its limit, its addresses get no buckets. They are only read here, so
        // that a request that its own address is refused for takes nothing from its neighbours.
        if let refusal = refusalOfNetworks(address, now: now) { return refusal }
        if let wait = own.take(address, now: now) { return .init(wait: wait, limit: limit) }
        for (bits, limiter) in wider {
            guard let network = address.network(ofBits: bits) else { break }
            if let wait = limiter.take(network, now: now) { return .init(wait: wait, limit: limiter.limit) }
        }
        return nil
    }

    /// Whether `take` would refuse a request, which is not counted.
    func refusal(of address: AddressKey, now: Int64) -> RateLimit.Refusal? {
        refusalOfNetworks(address, now: now) ?? own.wait(address, now: now).map { .init(wait: $0, limit: limit) }
    }

    private func refusalOfNetworks(_ address: AddressKey, now: Int64) -> RateLimit.Refusal? {
        for (bits, limiter) in wider {
            guard let network = address.network(ofBits: bits) else { return nil }
            if let wait = limiter.wait(network, now: now) { return .init(wait: wait, limit: limiter.limit) }
        }
        return nil
    }
}
