import Synchronization

/// How late this process' tasks are run because the machine is busy with other tests: what a test of speed allows for.
public final class SchedulingLag: Sendable {
    /// What is forgiven at the most, however busy the machine.
    public static let mostForgiven = Duration.seconds(5)

    private let longest = Mutex(Duration.zero)

    /// The longest time by which a task was late.
    public var allowance: Duration { longest.withLock { $0 } }

    /// Watches for as long as `body` takes.
    public static func watch<Value: Sendable>(
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

    /// How long `body` takes, less what other tests held it up: a request and its answer wait for their turn about four
    /// times, with the client and with the server. No more than `mostForgiven` is allowed for.
    public static func time<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async throws -> (value: Value, time: Duration) {
        try await watch { lag in
            let start = ContinuousClock.now
            let value = try await body()
            return (value, ContinuousClock.now - start - min(lag.allowance * 4, mostForgiven))
        }
    }
}
