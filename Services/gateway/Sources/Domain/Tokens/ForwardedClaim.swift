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

    /// The field that carries it.
    var field: String {
        switch self {
        case .email: "Gatehouse-Claim-Email"
        case .emailVerified: "Gatehouse-Claim-Email-Verified"
        case .clientID: "Gatehouse-Claim-Client-Id"
        case .tokenID: "Gatehouse-Claim-Jti"
        case .issuer: "Gatehouse-Claim-Iss"
        case .issuedAt: "Gatehouse-Claim-Iat"
        case .expiresAt: "Gatehouse-Claim-Exp"
        }
    }
}
