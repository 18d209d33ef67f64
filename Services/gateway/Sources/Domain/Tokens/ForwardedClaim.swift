/// A claim that a route can have forwarded to its service, besides the user, session, role and stores.
enum ForwardedClaim: String, Sendable, CaseIterable {
    case email
    /// Beside `email` always.
    case emailVerified = "email_verified"
    case clientID = "client_id"
    case tokenID = "jti"
    case issuer = "iss"
    case issuedAt = "iat"
    case expiresAt = "exp"
}
