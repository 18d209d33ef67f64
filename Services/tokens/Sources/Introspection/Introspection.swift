import Foundation

/// The introspection response for an active token (RFC 7662 §2.2).
struct Introspection: Sendable, Equatable {
    /// RFC 7662 has no member for the kind of token. Without one, a service might take a refresh token for an access
    /// token.
    enum Use: String, Sendable {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
    }

    var use: Use
    var issuer: String
    var clientID: String
    var subject: UUID
    var sessionID: UUID
    /// Seconds since 1970; `nil` for a refresh token that was replayed: when it was issued is not kept.
    var issuedAt: Int64?
    var expiresAt: Int64
    // Members of access tokens alone.
    var audience: String?
    var tokenID: UUID?
    var role: String?
    var storeIDs: [String]?
    var authenticationTime: Int64?
    /// `nil` where none is known.
    var authenticationMethods: [String]?
}

extension Introspection: Encodable {
    private enum CodingKeys: String, CodingKey {
        case active
        case use = "token_use"
        case type = "token_type"
        case issuer = "iss"
        case clientID = "client_id"
        case subject = "sub"
        case sessionID = "sid"
        case issuedAt = "iat"
        case expiresAt = "exp"
        case audience = "aud"
        case tokenID = "jti"
        case role
        case storeIDs = "store_ids"
        // RFC 9470 §6.2.
        case authenticationTime = "auth_time"
        case authenticationMethods = "amr"
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(true, forKey: .active)
        try members.encode(use.rawValue, forKey: .use)
        if use == .accessToken { try members.encode("Bearer", forKey: .type) }
        try members.encode(issuer, forKey: .issuer)
        try members.encode(clientID, forKey: .clientID)
        try members.encode(subject.uuidString.lowercased(), forKey: .subject)
        try members.encode(sessionID.uuidString.lowercased(), forKey: .sessionID)
        try members.encodeIfPresent(issuedAt, forKey: .issuedAt)
        try members.encode(expiresAt, forKey: .expiresAt)
        try members.encodeIfPresent(audience, forKey: .audience)
        try members.encodeIfPresent(tokenID?.uuidString.lowercased(), forKey: .tokenID)
        try members.encodeIfPresent(role, forKey: .role)
        try members.encodeIfPresent(storeIDs, forKey: .storeIDs)
        try members.encodeIfPresent(authenticationTime, forKey: .authenticationTime)
        try members.encodeIfPresent(authenticationMethods, forKey: .authenticationMethods)
    }
}
