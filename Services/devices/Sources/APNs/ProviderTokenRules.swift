import Crypto
import Foundation
import GatehouseBytes
import GatehouseServiceContracts

/// When a provider token is renewed.
///
/// “Refresh your token no more than once every 20 minutes and no less than once every 60 minutes. APNs rejects any
/// request whose token contains a timestamp that is more than one hour old.” (Apple, “Establishing a token-based
/// connection to APNs”). APNs counts the renewals of each connection.
enum ProviderTokenRules {
    /// The age at which a token is renewed.
    static let renewalAge: TimeInterval = 50 * 60
    /// The shortest time between two renewals.
    static let shortestUse: TimeInterval = 20 * 60
    /// The age from which APNs refuses a token, less a minute for the clocks.
    static let longestUse: TimeInterval = 59 * 60
    /// A new connection takes no token that is older, because it would have to renew it within ``shortestUse``.
    static let oldestOnNewConnection: TimeInterval = renewalAge - shortestUse
    /// A token from so far in the future comes from a clock that was set back since.
    static let clockTolerance: TimeInterval = 60

    /// - Parameters:
    ///   - age: of the newest token in seconds; `nil` without one.
    ///   - isNewConnection: whether a connection without a token asks.
    static func mustSign(age: TimeInterval?, isNewConnection: Bool) -> Bool {
        guard let age else { return true }
        return age >= (isNewConnection ? oldestOnNewConnection : renewalAge) || age < -clockTolerance
    }

    /// Whether a token that APNs has refused as expired is replaced by a new one.
    ///
    /// Usually the token is old. If it is not, the clock of this machine is wrong, and a new token helps only if the
    /// clock was corrected since.
    ///
    /// - Parameter sinceForced: seconds since a refused token was last replaced; `nil` if never.
    static func mayReplaceRefused(age: TimeInterval, sinceForced: TimeInterval?) -> Bool {
        age >= shortestUse || sinceForced.map { $0 >= shortestUse || $0 < 0 } ?? true
    }
}

/// The JSON Web Token with which a provider authenticates each request.
struct ProviderToken: Sendable, Confidential {
    /// The value of the request's `authorization` field.
    let authorization: String
    let issuedAt: Date

    /// Whether it is the same token. Two tokens of one second differ in their signatures.
    func isSame(as other: ProviderToken) -> Bool { authorization.isVerbatim(other.authorization) }

    func age(at now: Date) -> TimeInterval { now.timeIntervalSince(issuedAt) }

    /// Signs a token: ES256, `kid` in the header, `iss` and `iat` as claims.
    static func sign(
        team: String, keyID: String, key: P256.Signing.PrivateKey, issuedAt: Date
    ) throws -> ProviderToken {
        // Team and key have no character that JSON would escape: `APNsKey` has checked them.
        let seconds = Int(issuedAt.timeIntervalSince1970)
        let header = #"{"alg":"ES256","kid":"\#(keyID)"}"#
        let claims = #"{"iss":"\#(team)","iat":\#(seconds)}"#
        let signed = Base64URL.string(header.utf8) + "." + Base64URL.string(claims.utf8)
        let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
        return ProviderToken(
            authorization: "bearer \(signed).\(Base64URL.string(signature))",
            issuedAt: Date(timeIntervalSince1970: Double(seconds)))
    }
}

/// The provider token of one connection, and when it may be renewed.
struct ConnectionToken: Sendable {
    /// The token for the connection's next request.
    enum Choice: Sendable {
        case use(ProviderToken)
        /// The connection may neither keep its token nor renew it, so another connection must take its place.
        case replaceConnection
    }

    private(set) var current: ProviderToken?
    private var previous: ProviderToken?
    private var firstUsedAt = Date.distantPast
    private var renewedAt: Date?
    private var blockedUntil: Date?

    /// Chooses the token of the next request.
    ///
    /// - Parameter newest: the team's newest token.
    mutating func choose(newest: ProviderToken, now: Date) -> Choice {
        guard let used = current else {
            current = newest
            firstUsedAt = now
            return .use(newest)
        }
        if used.isSame(as: newest) { return .use(used) }
        if mayRenew(now: now), now.timeIntervalSince(firstUsedAt) >= ProviderTokenRules.shortestUse {
            renew(to: newest, now: now)
            return .use(newest)
        }
        return used.age(at: now) < ProviderTokenRules.longestUse ? .use(used) : .replaceConnection
    }

    /// Takes a new token because APNs has refused the current one as expired.
    ///
    /// - Returns: whether the connection may go on. If not, another one must take its place.
    mutating func replaceRefused(by newest: ProviderToken, now: Date) -> Bool {
        if let current, current.isSame(as: newest) { return true }
        guard mayRenew(now: now) else { return false }
        renew(to: newest, now: now)
        return true
    }

    /// APNs answered `TooManyProviderTokenUpdates`: the connection goes back to its previous token and keeps it.
    mutating func refuseRenewals(now: Date) {
        blockedUntil = now.addingTimeInterval(ProviderTokenRules.shortestUse)
        if let previous { current = previous }
        previous = nil
    }

    private mutating func renew(to newest: ProviderToken, now: Date) {
        previous = current
        current = newest
        renewedAt = now
    }

    private func mayRenew(now: Date) -> Bool {
        if let blockedUntil, now < blockedUntil { return false }
        return renewedAt.map { now.timeIntervalSince($0) >= ProviderTokenRules.shortestUse } ?? true
    }
}
