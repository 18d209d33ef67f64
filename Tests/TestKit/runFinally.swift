/// Runs `body`, then `end` whatever became of it: what `defer` is where `end` has to be waited for.
///
/// - Throws: what `end` throws, or else what `body` does.
func run<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value,
    finally end: () async throws -> Void
) async throws -> Value {
    let result: Result<Value, any Error>
    do {
        result = .success(try await body())
    } catch {
        result = .failure(error)
    }
    try await end()
    return try result.get()
}
