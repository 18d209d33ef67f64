import Testing

/// Waits until `condition` holds; fails the test when it does not within 30 s.
func eventually(isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while try await !condition() {
        try #require(ContinuousClock.now < deadline, "it never came to hold")
        try await Task.sleep(for: .milliseconds(1))
    }
}
