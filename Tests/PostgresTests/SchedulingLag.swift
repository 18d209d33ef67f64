import Synchronization

/// How late this process' tasks are run because the machine is busy with other tests: what a test of speed allows for.
final class SchedulingLag: Sendable {
    private let longest = Mutex(Duration.zero)

    /// The longest time by which a task was late.
    var allowance: Duration { longest.withLock { $0 } }

    /// Watches for as long as `body` takes.
    static func watch<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ body: (SchedulingLag) async throws -> Value
    ) async throws -> Value {
        let lag = SchedulingLag()
        let watcher = Task {
            while !Task.isCancelled {
                let start = ContinuousClock.now
                try? await Task.sleep(for: .milliseconds(10))
                let late = ContinuousClock.now - start - .milliseconds(10)
                lag.longest.withLock { $0 = max($0, late) }
            }
        }
        defer { watcher.cancel() }
        return try await body(lag)
    }
}
