import Contracts
import Foundation
import Synchronization

/// Limits how many tokens with an unknown key id are looked up in PostgreSQL.
///
/// Without the key their HMAC cannot be checked, so anybody can make such tokens up, and each costs a query. Each one
/// takes from two token buckets: its address' and one for all addresses. A token that PostgreSQL confirms is given back
/// to both: while a new key is rolled out, replicas that lack it go on serving real clients at full speed.
///
/// It does its own arithmetic: the buckets of `RateLimiting` are taken from one at a time, here both under one lock or
/// neither.
final class UnknownKeyLimit: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// `burst` at once, and one more after each `interval`.
    fileprivate struct Rate {
        let burst: Int
        let interval: Duration
    }

    /// For all addresses: a fraction of the refreshes that a replica has time for.
    private static let together = Rate(burst: 100, interval: .milliseconds(20))
    private static let ofAddress = Rate(burst: 10, interval: .seconds(1))
    /// A fixed number, which bounds the memory. Addresses share buckets by a hash that is seeded anew in each process,
    /// so that nobody can choose an address to share somebody's bucket.
    private static let addressBuckets = 4096

    /// A bucket's state is the instant at which it will be full again.
    private struct FullAt {
        var together: Instant
        var ofAddress: [Instant]
    }

    private let fullAt: Mutex<FullAt>

    init(now: Instant = .now) {
        fullAt = Mutex(FullAt(together: now, ofAddress: Array(repeating: now, count: Self.addressBuckets)))
    }

    /// Takes from both buckets, before a token is looked up.
    ///
    /// - Parameter address: the client's; `nil` when it is not known.
    /// - Throws: `RATE_LIMITED` when its address has sent too many, `UNAVAILABLE` when all together have.
    func take(from address: String?, at now: Instant = .now) throws(Problem) {
        let index = address.map(Self.index)
        let refusal: Problem? = fullAt.withLock { fullAt in
            var ofAddress: Instant?
            if let index {
                let next = max(fullAt.ofAddress[index], now) + Self.ofAddress.interval
                if let wait = Self.ofAddress.wait(for: next, at: now) { return Problem(.rateLimited, retryAfter: wait) }
                ofAddress = next
            }
            let together = max(fullAt.together, now) + Self.together.interval
            if let wait = Self.together.wait(for: together, at: now) { return Problem(.unavailable, retryAfter: wait) }
            fullAt.together = together
            if let index, let ofAddress { fullAt.ofAddress[index] = ofAddress }
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Gives back what a token took that turned out to be genuine.
    func refund(to address: String?) {
        let index = address.map(Self.index)
        fullAt.withLock { fullAt in
            fullAt.together -= Self.together.interval
            if let index { fullAt.ofAddress[index] -= Self.ofAddress.interval }
        }
    }

    /// An IPv6 client has a whole /64 to choose addresses from, so the network counts as one address.
    private static func index(of address: String) -> Int {
        var parts = in6_addr()
        guard inet_pton(AF_INET6, address, &parts) == 1 else { return slot(Array(address.utf8)) }
        return withUnsafeBytes(of: parts) { slot(Array($0.prefix(8))) }
    }

    private static func slot(_ bytes: [UInt8]) -> Int {
        Int(UInt(bitPattern: bytes.hashValue) % UInt(addressBuckets))
    }
}

extension UnknownKeyLimit.Rate {
    /// Whole seconds until the bucket has room for a token after which it will be full at `next`; `nil` when it has
    /// room now.
    fileprivate func wait(for next: ContinuousClock.Instant, at now: ContinuousClock.Instant) -> Int? {
        let excess = (now.duration(to: next) - interval * burst) / .seconds(1)
        return excess > 0 ? Int(excess.rounded(.up)) : nil
    }
}
