/// The form of `POST /auth/token`, `POST /auth/revoke` and `POST /auth/usermigrationinfo`.
struct ClientForm: Sendable {
    let fields: [String: String]

    var clientID: String? { fields["client_id"] }
    var clientSecret: String? { fields["client_secret"] }
    var grantType: String? { fields["grant_type"] }
    var code: String? { fields["code"] }
    var redirectURI: String? { fields["redirect_uri"] }
    var refreshToken: String? { fields["refresh_token"] }
    var scope: String? { fields["scope"] }
    var sub: String? { fields["sub"] }
    var target: String? { fields["target"] }
    var transferSub: String? { fields["transfer_sub"] }
    var token: String? { fields["token"] }
}

/// The response of `POST /auth/token` (Apple's TokenResponse, RFC 6749 §5.1).
struct TokenResponse: Codable, Sendable {
    var access_token: String
    var token_type = "Bearer"
    /// Seconds.
    var expires_in = 3600
    /// Only for an authorization code.
    var refresh_token: String?
    /// Only for a person's token; a team's own token has none.
    var id_token: String?
}

/// Apple's ErrorResponse, always with 400 (RFC 6749 §5.2).
struct OAuthError: Error, Codable, Sendable, Equatable {
    var error: String

    static let invalidRequest = OAuthError(error: "invalid_request")
    static let invalidClient = OAuthError(error: "invalid_client")
    static let invalidGrant = OAuthError(error: "invalid_grant")
    static let unsupportedGrantType = OAuthError(error: "unsupported_grant_type")
}
