/// The form in which a route's clients expect to be refused.
public enum ErrorForm: Sendable, Equatable {
    /// `application/problem+json` (RFC 9457).
    case problem
    /// OAuth's (RFC 6749 §5.2).
    case oauth
}
