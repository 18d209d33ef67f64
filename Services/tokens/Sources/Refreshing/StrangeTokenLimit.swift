import Contracts
import Foundation
import Synchronization

/// How many tokens under keys that are not known here are looked up. Anybody can make one up, and only PostgreSQL tells.
///
/// One that turns out to be genuine costs nothing, so that a roll-out of a key that began on other replicas refreshes
/// as fast as ever; each that does not takes from two buckets: of its address, and of all together.
final class StrangeTokenLimit: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// So many at once, and one more in each interval.
    fileprivate struct Rate {
        let burst: Int
        let interval: Duration
    }

    /// A fraction of the refreshes that a replica has time for.
    private static let together = Rate(burst: 100, interval: .milliseconds(20))
    private static let ofAddress = Rate(burst: 10, interval: .seconds(1))
    /// Addresses share a bucket by chance, at random anew in each process, which bounds the memory.
    private static let addressBuckets = 4096

    /// When each bucket is full again: its whole state.
    private struct FullAt {
        var together: Instant
        var ofAddress: [Instant]
    }

    private let fullAt: Mutex<FullAt>

    init(now: Instant = .now) {
        fullAt = Mutex(FullAt(together: now, ofAddress: Array(repeating: now, count: Self.addressBuckets)))
    }

    /// Lets one be looked up.
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

    /// The token that was looked up is genuine.
    func giveBack(to address: String?) {
        let index = address.map(Self.index)
        fullAt.withLock { fullAt in
            fullAt.together -= Self.together.interval
            if let index { fullAt.ofAddress[index] -= Self.ofAddress.interval }
        }
    }

    /// Who has one IPv6 address has its /64.
    private static func index(of address: String) -> Int {
        var parts = in6_addr()
        guard inet_pton(AF_INET6, address, &parts) == 1 else { return slot(Array(address.utf8)) }
        return withUnsafeBytes(of: parts) { slot(Array($0.prefix(8))) }
    }

    private static func slot(_ bytes: [UInt8]) -> Int {
        Int(UInt(bitPattern: bytes.hashValue) % UInt(addressBuckets))
    }
}

extension StrangeTokenLimit.Rate {
    /// Whole seconds until a bucket may be full not before `next`; `nil` when it may now.
    fileprivate func wait(for next: ContinuousClock.Instant, at now: ContinuousClock.Instant) -> Int? {
        let excess = (now.duration(to: next) - interval * burst) / .seconds(1)
        return excess > 0 ? Int(excess.rounded(.up)) : nil
    }
}
