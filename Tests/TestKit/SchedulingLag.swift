import Synchronization

/// How late this process' tasks run because other tests load the machine. Tests of speed subtract this lag.
public final class SchedulingLag: Sendable {
    /// The largest lag that is subtracted.
    public static let mostForgiven = Duration.seconds(5)

    private let longest = Mutex(Duration.zero)

    /// The longest observed lag.
    public var allowance: Duration { longest.withLock { $0 } }

    /// What a test of speed subtracts: a request and its response wait for a thread about four times, at the client and
    /// at the server. At most ``mostForgiven``.
    public var forgiven: Duration { min(allowance * 4, Self.mostForgiven) }

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

    /// The duration of `body` without the delays caused by other tests.
    public static func time<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async throws -> (value: Value, time: Duration) {
        try await watch { lag in
            let start = ContinuousClock.now
            let value = try await body()
            return (value, ContinuousClock.now - start - lag.forgiven)
        }
    }
}
