/// Asks again and again, until the condition holds or the time is up.
///
/// - Parameters:
///   - limit: generous by default, since it is only used up by what fails.
///   - pause: between two looks; longer where a look is dear.
///   - what: named in the error.
/// - Throws: ``TestKitError`` when the time is up, or what the condition throws.
public func eventually(
    _ what: String, within limit: Duration = .seconds(60), every pause: Duration = .milliseconds(5),
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else { throw TestKitError("Not within \(limit): \(what)") }
        try await Task.sleep(for: pause)
    }
}
