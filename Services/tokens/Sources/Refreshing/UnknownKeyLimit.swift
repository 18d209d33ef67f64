import Foundation
import GatehouseLimits
import GatehouseServiceContracts

/// Limits the lookups in PostgreSQL of tokens with an unknown key id.
///
/// Without the key the service cannot verify their HMAC. So an attacker can forge such tokens, and each costs a query.
/// Each lookup takes from two token buckets: one of the client's address and one for all addresses. If PostgreSQL
/// confirms the token, both are refunded. So while a new key is rolled out, replicas that lack it serve real clients at
/// full speed.
struct UnknownKeyLimit: Sendable {
    /// For all addresses: a fraction of the refreshes that a replica can serve.
    private let together = TokenBuckets<String>(bucket: TokenBucket(capacity: 100, refillPerSecond: 50), capacity: 1)
    private let addresses = TokenBuckets<String>(bucket: TokenBucket(capacity: 10, refillPerSecond: 1))

    /// Takes from both buckets or from neither, before a token is looked up.
    ///
    /// - Parameters:
    ///   - address: the client's; `nil` when it is not known.
    ///   - now: microseconds on a monotonic clock.
    /// - Throws: `RATE_LIMITED` when the address' bucket is empty, `UNAVAILABLE` when the bucket of all addresses is.
    func take(from address: String?, at now: Int64 = TokenBucket.uptime) throws(Problem) {
        let network = address.map(Self.network)
        if let network, let wait = addresses.take(from: network, now: now).decision.retryAfter {
            throw Problem(.rateLimited, retryAfter: wait.wholeSeconds)
        }
        if let wait = together.take(from: "", now: now).decision.retryAfter {
            if let network { addresses.refund(to: network) }
            throw Problem(.unavailable, retryAfter: wait.wholeSeconds)
        }
    }

    /// Refunds both buckets for a token that PostgreSQL confirmed.
    func refund(to address: String?) {
        together.refund(to: "")
        if let address { addresses.refund(to: Self.network(of: address)) }
    }

    /// An IPv6 client can use any address of a /64, so the network counts as one address.
    private static func network(of address: String) -> String {
        var parts = in6_addr()
        guard inet_pton(AF_INET6, address, &parts) == 1 else { return address }
        return withUnsafeBytes(of: parts) { "\($0.loadUnaligned(as: UInt64.self))" }
    }
}

extension Duration {
    /// Rounded up, for `Retry-After`.
    fileprivate var wholeSeconds: Int { Int((self / .seconds(1)).rounded(.up)) }
}
