/// An error response in the format of RFC 6749 §5.2.
public struct OAuthError: Error, Sendable, Equatable {
    public var code: String
    public var description: String
    /// The HTTP status.
    public var status: Int
    /// Seconds; written as `Retry-After`.
    public var retryAfter: Int?

    public init(code: String, description: String, status: Int = 400, retryAfter: Int? = nil) {
        self.code = code
        self.description = description
        self.status = status
        self.retryAfter = retryAfter
    }

    /// An outage is never `invalid_grant`, because a client would then sign its user out.
    public init(_ problem: Problem) {
        switch problem.code {
        case .invalidRefreshToken:
            self.init(code: "invalid_grant", description: problem.detail)
        case .invalidToken, .tokenExpired:
            self.init(code: "invalid_client", description: problem.detail, status: 401)
        case .unavailable, .timeout, .internal, .badGateway, .rateLimited:
            self.init(
                code: "temporarily_unavailable", description: problem.detail,
                status: problem.code == .rateLimited ? 429 : 503, retryAfter: problem.retryAfter ?? 1)
        case .payloadTooLarge:
            self.init(code: "invalid_request", description: problem.detail, status: 413)
        default:
            self.init(code: "invalid_request", description: problem.detail)
        }
    }
}

/// The format of a route's error responses.
public enum ErrorForm: Sendable, Equatable {
    /// `application/problem+json` (RFC 9457).
    case problem
    /// OAuth's (RFC 6749 §5.2).
    case oauth
}
