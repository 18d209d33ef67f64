/// Unused authorization codes. Each can be exchanged once, within five minutes.
struct AuthorizationCodes: Sendable {
    static let lifetime = 300

    private var grants: [String: (grant: Grant, expiresAt: Int)] = [:]
    private var order: [(code: String, expiresAt: Int)] = []

    /// - Parameter now: seconds since 1970.
    mutating func issue(_ code: String, for grant: Grant, now: Int) {
        forgetExpired(now: now)
        grants[code] = (grant, now + Self.lifetime)
        order.append((code, now + Self.lifetime))
    }

    /// Returns the code's grant, if the code is unused and not expired. Any client that presents the code uses it up.
    mutating func redeem(_ code: String, now: Int) -> Grant? {
        guard let (grant, expiresAt) = grants.removeValue(forKey: code), now < expiresAt else { return nil }
        return grant
    }

    private mutating func forgetExpired(now: Int) {
        guard let first = order.first, first.expiresAt <= now else { return }
        for entry in order.prefix(while: { $0.expiresAt <= now }) { grants[entry.code] = nil }
        order.removeAll { $0.expiresAt <= now }
    }
}
