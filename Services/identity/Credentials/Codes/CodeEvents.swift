extension AuditedAttempt.Method {
    static let code = Self("code", yieldsToBearerError: true)
}
