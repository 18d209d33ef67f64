/// Polls until the condition holds or the time limit is reached.
///
/// - Parameters:
///   - limit: generous by default, because only failing tests use it up.
///   - pause: the time between two checks; longer if a check is expensive.
///   - what: the condition's name in the error, made at the timeout: it may report the state then.
/// - Throws: ``TestKitError`` on a timeout, or the condition's error.
public func eventually(
    _ what: @autoclosure () -> String, within limit: Duration = .seconds(60), every pause: Duration = .milliseconds(5),
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else { throw TestKitError("Not within \(limit): \(what())") }
        try await Task.sleep(for: pause)
    }
}
