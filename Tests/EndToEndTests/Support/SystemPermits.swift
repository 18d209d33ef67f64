/// Limits how many systems run at once. Each is half a dozen processes, a PostgreSQL and a Redis. With one for each
/// suite, all would start so slowly that services took each other for unavailable.
actor SystemPermits {
    static let shared = SystemPermits(2)
    /// For tests that start a system themselves. They run among all others. The tests of a suite that shares a system
    /// queue when the system has started, behind all others.
    static let ofTests = SystemPermits(1)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    /// Runs `body` when it is its turn.
    func hold(_ body: @Sendable () async throws -> Void) async throws {
        await take()
        defer { release() }
        try await body()
    }

    private func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func release() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
