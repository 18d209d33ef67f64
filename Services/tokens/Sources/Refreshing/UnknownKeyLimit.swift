import Contracts
import Foundation
import Limits
import Synchronization

/// Limits the lookups in PostgreSQL of tokens with an unknown key id.
///
/// Without the key the service cannot verify their HMAC. So an attacker can forge such tokens, and each costs a query.
/// Each lookup takes from two token buckets: one of the client's address and one for all addresses. If PostgreSQL
/// confirms the token, both are refunded. So while a new key is rolled out, replicas that lack it serve real clients at
/// full speed.
///
/// A token takes from both buckets or from neither, so one lock holds all of them.
final class UnknownKeyLimit: Sendable {
    /// For all addresses: a fraction of the refreshes that a replica can serve.
    private static let together = TokenBucket(capacity: 100, refillPerSecond: 50)
    private static let ofAddress = TokenBucket(capacity: 10, refillPerSecond: 1)
    /// A fixed number, which bounds the memory. Addresses share buckets by a hash with a random seed for each process,
    /// so that an attacker cannot choose an address that shares another client's bucket.
    private static let addressBuckets = 4096

    /// When each bucket is full again, in microseconds.
    private struct FullAt {
        var together: Int64 = 0
        var ofAddress = [Int64](repeating: 0, count: addressBuckets)
    }

    private let fullAt = Mutex(FullAt())

    /// Takes from both buckets, before a token is looked up.
    ///
    /// - Parameters:
    ///   - address: the client's; `nil` when it is not known.
    ///   - now: microseconds on a monotonic clock.
    /// - Throws: `RATE_LIMITED` when the address' bucket is empty, `UNAVAILABLE` when the bucket of all addresses is.
    func take(from address: String?, at now: Int64 = LocalTokenBuckets.uptime) throws(Problem) {
        let index = address.map(Self.index)
        let refusal: Problem? = fullAt.withLock { fullAt in
            var ofAddress: Int64?
            if let index {
                let (decision, next) = Self.ofAddress.take(1, fullAt: fullAt.ofAddress[index], now: now)
                if case .refused(let wait) = decision { return Problem(.rateLimited, retryAfter: wait.wholeSeconds) }
                ofAddress = next
            }
            let (decision, together) = Self.together.take(1, fullAt: fullAt.together, now: now)
            if case .refused(let wait) = decision { return Problem(.unavailable, retryAfter: wait.wholeSeconds) }
            if let together { fullAt.together = together }
            if let index, let ofAddress { fullAt.ofAddress[index] = ofAddress }
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Refunds both buckets for a token that PostgreSQL confirmed.
    func refund(to address: String?) {
        let index = address.map(Self.index)
        fullAt.withLock { fullAt in
            fullAt.together -= Self.together.interval
            if let index { fullAt.ofAddress[index] -= Self.ofAddress.interval }
        }
    }

    /// An IPv6 client can use any address of a /64, so the network counts as one address.
    private static func index(of address: String) -> Int {
        var parts = in6_addr()
        guard inet_pton(AF_INET6, address, &parts) == 1 else { return slot(Array(address.utf8)) }
        return withUnsafeBytes(of: parts) { slot(Array($0.prefix(8))) }
    }

    private static func slot(_ bytes: [UInt8]) -> Int {
        Int(UInt(bitPattern: bytes.hashValue) % UInt(addressBuckets))
    }
}

extension Duration {
    /// Rounded up, for `Retry-After`.
    fileprivate var wholeSeconds: Int { Int((self / .seconds(1)).rounded(.up)) }
}
