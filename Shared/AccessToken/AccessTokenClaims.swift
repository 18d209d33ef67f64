public import Foundation

/// What an access token says (RFC 9068 §2.2, with Gatehouse's own `role` and `store_ids`).
public struct AccessTokenClaims: Sendable, Equatable {
    /// `iss`
    public var issuer: String
    /// `aud`, always one string.
    public var audience: String
    /// `sub`: the user.
    public var subject: UUID
    /// `sid`: the session. Revoking it ends the token.
    public var sessionID: UUID
    /// `jti`: this token.
    public var tokenID: UUID
    /// `iat`: seconds since 1970.
    public var issuedAt: Int64
    /// `exp`: seconds since 1970. The token is good before this second, not in it.
    public var expiresAt: Int64
    /// `client_id`: the app the token was issued to.
    public var clientID: String
    /// `role`
    public var role: String
    /// `store_ids`
    public var storeIDs: [String]
    /// `email`, where the user has one. Anybody may have typed it in, unless `isEmailVerified`.
    public var email: String?
    /// `email_verified`: whether the user has proved that the address is theirs. It stands in every token that has an
    /// address; in one that does not say so the address is not proved.
    public var isEmailVerified: Bool
    /// `auth_time`: when the user last proved who they are, in seconds since 1970; `nil` in a token that does not tell.
    public var authenticationTime: Int64?
    /// `amr`: how the user proved it (RFC 8176). Empty where that is not known; the claim is then left out.
    public var authenticationMethods: [String]

    public init(
        issuer: String, audience: String, subject: UUID, sessionID: UUID, tokenID: UUID = UUID(), issuedAt: Int64,
        expiresAt: Int64, clientID: String, role: String, storeIDs: [String] = [], email: String? = nil,
        isEmailVerified: Bool = false, authenticationTime: Int64? = nil, authenticationMethods: [String] = []
    ) {
        self.issuer = issuer
        self.audience = audience
        self.subject = subject
        self.sessionID = sessionID
        self.tokenID = tokenID
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.clientID = clientID
        self.role = role
        self.storeIDs = storeIDs
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.authenticationTime = authenticationTime
        self.authenticationMethods = authenticationMethods
    }
}
