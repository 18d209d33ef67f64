/// Runs `body`, then `end` even if `body` throws: a `defer` for asynchronous work.
///
/// - Throws: the error of `end`, otherwise the error of `body`.
public func runFinally<Value>(
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
