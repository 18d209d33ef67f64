/// What a rate limit says.
public enum RateLimitDecision: Sendable, Hashable {
    /// - Parameter remaining: how many more would be allowed at once.
    case allowed(remaining: Int)
    /// - Parameter retryAfter: when the same request would be allowed, if nobody else comes first.
    case refused(retryAfter: Duration)

    /// Whether the tokens were taken.
    public var isAllowed: Bool {
        if case .allowed = self { true } else { false }
    }
}
