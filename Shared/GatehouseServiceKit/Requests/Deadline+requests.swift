public import GatehouseLimits
public import GatehouseServiceContracts
public import Hummingbird
import HummingbirdCore

extension Deadline {
    /// Runs work and cancels its task at the deadline.
    ///
    /// If the work ignores cancellation, this function waits for it anyway.
    ///
    /// - Throws: `TIMEOUT` when the deadline passed first; otherwise the error of `work`.
    public func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask(operation: work)
            group.addTask { [instant] in
                try await Task.sleep(until: instant, clock: .continuous)
                throw Problem(.timeout)
            }
            defer { group.cancelAll() }
            return try await group.next()!
        }
    }
}

extension GatehouseRequestContext {
    /// The longest that a long poll may wait, in seconds.
    public static let longestPoll = 30

    /// The end of a long poll with `wait=SECONDS`: slightly before the caller's deadline, so that the response still
    /// reaches the caller.
    ///
    /// - Throws: `INVALID_REQUEST` when the value is not a number of seconds.
    public func longPollEnd(of request: Request) throws(Problem) -> ContinuousClock.Instant {
        var seconds = 0
        if let text = request.uri.queryParameters.get("wait") {
            guard let value = Int(text), value >= 0 else { throw Problem.invalid("wait", "Want whole seconds.") }
            seconds = min(value, Self.longestPoll)
        }
        return deadline.capped(at: .seconds(seconds)).instant - .milliseconds(100)
    }
}
