import Synchronization

/// How late this process' tasks run because other tests load the machine. The test of pushes under faults, which
/// compares recorded times, allows for it.
public final class SchedulingLag: Sendable {
    /// The largest lag that is subtracted.
    public static let mostForgiven = Duration.seconds(5)

    private let longest = Mutex(Duration.zero)

    /// Four times the longest observed lag, because a request and its response wait for a thread about four times, at
    /// the client and at the server. At most ``mostForgiven``.
    public var forgiven: Duration { min(longest.withLock { $0 } * 4, Self.mostForgiven) }

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
}
