import Testing

/// Waits until the screen meets `condition`. Other tasks run meanwhile.
@MainActor
func eventually(_ what: Comment, _ condition: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try await !condition() {
        guard ContinuousClock.now < end else {
            Issue.record(what)
            throw CancellationError()
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}
