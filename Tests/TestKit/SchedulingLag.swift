import Synchronization

/// How late this process' tasks run because other tests load the machine. Tests of speed subtract this lag.
public final class SchedulingLag: Sendable {
    /// The largest lag that is subtracted.
    public static let mostForgiven = Duration.seconds(5)

    private let longest = Mutex(Duration.zero)

    /// The longest observed lag.
    public var allowance: Duration { longest.withLock { $0 } }

    /// Measures the lag while `body` runs.
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

    /// The duration of `body` without the delays caused by other tests. A request and its response wait for a thread
    /// about four times, at the client and at the server. At most `mostForgiven` is subtracted.
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
