/// Calls `body` until it returns a value, at most three times. It returns `nil` where another request has changed the
/// same rows first.
/// - Throws: ``StoreConflict`` after the third time.
func retryingConflicts<Value>(_ body: () async throws -> Value?) async throws -> Value {
    for _ in 0..<3 {
        if let value = try await body() { return value }
    }
    throw StoreConflict()
}
