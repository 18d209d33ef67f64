import Contracts
import Foundation
import Redis
import ServiceKit

/// How often somebody may try: for each identifier, so that no password is guessed by patience, and for each address,
/// so that no list of passwords is tried out. Successful attempts count too; the limits leave them room.
struct AttemptLimits: Sendable {
    private let byIdentifier: RedisTokenBucket?
    private let byAddress: RedisTokenBucket?

    /// - Parameters:
    ///   - redis: shared by all replicas; while it is away each counts for itself.
    ///   - isEnabled: off in load tests alone.
    init(redis: RedisClient, isEnabled: Bool) {
        guard isEnabled else {
            byIdentifier = nil
            byAddress = nil
            return
        }
        // 30 at once, then one every ten seconds.
        byIdentifier = RedisTokenBucket(
            client: redis, name: "identity:attempts:identifier", capacity: 30, refillPerSecond: 0.1)
        // Generous: thousands of phones share one carrier's address.
        byAddress = RedisTokenBucket(
            client: redis, name: "identity:attempts:address", capacity: 600, refillPerSecond: 5)
    }

    /// - Throws: `RATE_LIMITED`.
    func admit(_ identifier: Identifier? = nil, from address: String) async throws(Problem) {
        try await take(byAddress, Self.network(of: address))
        if let identifier {
            // The key names nobody to whoever reads Redis.
            try await take(byIdentifier, String(sha256Hex(identifier.value).prefix(32)))
        }
    }

    /// For somebody who is signed in and has to show the password again.
    /// - Throws: `RATE_LIMITED`.
    func admit(account userID: UUID, from address: String) async throws(Problem) {
        try await take(byAddress, Self.network(of: address))
        try await take(byIdentifier, userID.uuidString)
    }

    private func take(_ bucket: RedisTokenBucket?, _ key: String) async throws(Problem) {
        guard let bucket, case .refused(let retryAfter) = await bucket.take(key) else { return }
        throw Problem(.rateLimited, retryAfter: max(1, Int(retryAfter.components.seconds) + 1))
    }

    /// A subscriber's IPv6 addresses share their first 64 bits.
    static func network(of address: String) -> String {
        guard address.contains(":"), !address.contains(".") else { return address }
        let halves = address.split(separator: "%")[0].components(separatedBy: "::")
        var groups = halves[0].split(separator: ":").map(String.init)
        if halves.count == 2 {
            let tail = halves[1].split(separator: ":").map(String.init)
            groups += Array(repeating: "0", count: max(0, 8 - groups.count - tail.count)) + tail
        }
        return groups.prefix(4).joined(separator: ":") + "::/64"
    }
}
