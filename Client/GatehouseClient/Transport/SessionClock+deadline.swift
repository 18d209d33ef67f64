import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension SessionClock {
    /// Runs `body`, and cancels it when the time is up.
    ///
    /// - Throws: what `body` throws, or `URLError.timedOut`.
    func deadline<Value: Sendable>(
        _ limit: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await sleep(for: limit)
                throw URLError(.timedOut)
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}
