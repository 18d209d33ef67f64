public import Contracts
public import Hummingbird
import HummingbirdCore

/// The moment at which the caller stops waiting for the response. Each call in a chain has an earlier deadline.
public struct Deadline: Sendable, Equatable {
    public let instant: ContinuousClock.Instant
    /// The timeout for PostgreSQL.
    private let patience: Duration

    public init(_ instant: ContinuousClock.Instant, patience: Duration = Deadline.defaultPatience) {
        self.instant = instant
        self.patience = patience
    }

    /// A deadline that lies `duration` ahead.
    public static func after(_ duration: Duration) -> Deadline {
        Deadline(.now.advanced(by: duration))
    }

    /// What is left; never negative.
    public var remaining: Duration {
        max(.zero, ContinuousClock.now.duration(to: instant))
    }

    public var hasPassed: Bool {
        instant <= .now
    }

    /// The earlier of this one and one that lies `duration` ahead.
    public func capped(at duration: Duration) -> Deadline {
        Deadline(min(instant, .now.advanced(by: duration)), patience: patience)
    }

    func earlier(by duration: Duration) -> Deadline {
        Deadline(instant - duration, patience: patience)
    }

    /// When PostgreSQL is unavailable or hangs, the client gets the response within 2 s.
    public static let defaultPatience = Duration.milliseconds(1500)

    /// The deadline for PostgreSQL, which may be earlier than the caller's.
    public var forDatabase: ContinuousClock.Instant {
        capped(at: patience).instant
    }

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

    /// The remaining time in whole milliseconds, as sent to the next service.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = remaining.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
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
