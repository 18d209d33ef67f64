// Pure: no I/O, no clock.

import Foundation
import GatehouseAccessTokens
import GatehouseBytes

/// A verified access token, and the data about it that is forwarded to upstreams.
final class VerifiedToken: Sendable {
    /// The claims of the token that a route may forward.
    private struct ForwardableClaims: Sendable {
        var email: String?
        var isEmailVerified: Bool
        var clientID: String?
        var tokenID: String?
        var issuedAt: Int64?
        var expiresAt: Int64
    }

    /// The second (since 1970) from which the token is refused: its `exp`, and the leeway.
    let expiresAt: Int64
    /// The index in the list of trusted issuers, where Gatehouse itself is the first.
    let issuerIndex: Int
    /// The generation of the issuer's keys that verified the token.
    let generation: Int
    let issuer: String
    let userKey: UserKey
    /// Gatehouse's session of the token. Its end invalidates the token.
    let ownSession: UUID?
    /// The user's roles. One of them has to be among those that a route requires.
    let roles: [VerbatimString]
    /// When the user last authenticated, in seconds since 1970; `nil` where the token does not contain it.
    let authenticationTime: Int64?
    /// The field lines that identify the user to a service.
    let identityLines: [UInt8]
    private let forwardable: ForwardableClaims

    /// A token of Gatehouse's own, or of an issuer that is trusted as Gatehouse is.
    ///
    /// - Parameters:
    ///   - identityLines: the field lines that identify the user to a service.
    ///   - leeway: seconds.
    init(
        _ claims: AccessTokenClaims, identityLines: [UInt8], issuerIndex: Int = 0, generation: Int, leeway: Int64 = 0
    ) {
        self.identityLines = identityLines
        self.issuerIndex = issuerIndex
        self.generation = generation
        expiresAt = claims.expiresAt + leeway
        issuer = claims.issuer
        userKey = UserKey(id: claims.subject, issuerIndex: issuerIndex)
        ownSession = issuerIndex == 0 ? claims.sessionID : nil
        roles = [VerbatimString(claims.role)]
        authenticationTime = claims.authenticationTime
        forwardable = ForwardableClaims(
            email: claims.email, isEmailVerified: claims.isEmailVerified, clientID: claims.clientID,
            tokenID: claims.tokenID.uuidString.lowercased(), issuedAt: claims.issuedAt, expiresAt: claims.expiresAt)
    }

    /// A token of an issuer whose users are not Gatehouse's: separate fields identify its user to the service.
    ///
    /// - Parameters:
    ///   - identityLines: the field lines that identify the user to a service.
    ///   - roleNames: the names that routes use for the issuer's roles.
    ///   - leeway: seconds.
    init(
        external claims: ExternalTokenClaims, identityLines: [UInt8], roleNames: [VerbatimString: VerbatimString],
        issuerIndex: Int, generation: Int, leeway: Int64 = 0
    ) {
        self.identityLines = identityLines
        self.issuerIndex = issuerIndex
        self.generation = generation
        expiresAt = claims.expiresAt + leeway
        issuer = claims.issuer
        userKey = UserKey(name: claims.subject, issuerIndex: issuerIndex)
        ownSession = nil
        roles = claims.roles.compactMap { roleNames[VerbatimString($0)] }
        authenticationTime = claims.authenticationTime
        forwardable = ForwardableClaims(
            email: claims.email, isEmailVerified: claims.isEmailVerified, clientID: claims.clientID,
            tokenID: claims.tokenID, issuedAt: claims.issuedAt, expiresAt: claims.expiresAt)
    }

    /// Whether another issuer than Gatehouse issued the token.
    var isForeign: Bool { issuerIndex != 0 }

    /// Whether the user has authenticated within the given time; `false` if the token does not contain the time. A time
    /// in the future counts as now, because the issuer's clock may be ahead.
    ///
    /// - Parameters:
    ///   - maximumAge: in seconds.
    ///   - now: seconds since 1970.
    func isAuthenticated(within maximumAge: Int, now: Int64) -> Bool {
        authenticationTime.map { now - $0 <= Int64(maximumAge) + Self.authenticationLeeway } ?? false
    }

    /// Seconds of tolerance for the age of an authentication, because clocks differ.
    static let authenticationLeeway: Int64 = 5

    func hasRole(of wanted: Set<VerbatimString>) -> Bool { roles.contains { wanted.contains($0) } }

    /// `nil`: the token does not have the claim.
    func value(of claim: ForwardedClaim) -> String? {
        switch claim {
        case .email: forwardable.email
        case .emailVerified: forwardable.email.map { _ in forwardable.isEmailVerified ? "true" : "false" }
        case .clientID: forwardable.clientID
        case .tokenID: forwardable.tokenID
        case .issuer: issuer
        case .issuedAt: forwardable.issuedAt.map { String($0) }
        case .expiresAt: String(forwardable.expiresAt)
        }
    }
}

/// A claim that a route can forward to its service, besides the user, session, role and stores.
enum ForwardedClaim: String, Sendable, CaseIterable {
    case email
    /// Always forwarded together with `email`.
    case emailVerified = "email_verified"
    case clientID = "client_id"
    case tokenID = "jti"
    case issuer = "iss"
    case issuedAt = "iat"
    case expiresAt = "exp"
}
