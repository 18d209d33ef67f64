/// How many systems run at once. Each is half a dozen processes, a PostgreSQL and a Redis: as many as there are suites
/// would start so slowly together that each took the others for away.
actor SystemPlaces {
    static let shared = SystemPlaces(2)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    /// Runs `body` when it is its turn.
    func hold(_ body: @Sendable () async throws -> Void) async throws {
        await take()
        defer { giveBack() }
        try await body()
    }

    private func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func giveBack() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
