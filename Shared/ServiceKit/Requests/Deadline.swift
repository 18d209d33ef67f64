public import Contracts
public import Hummingbird
import HummingbirdCore

/// The moment after which nobody waits for the answer any more. It shrinks along the chain of calls.
public struct Deadline: Sendable, Equatable {
    public let instant: ContinuousClock.Instant
    /// How long PostgreSQL may keep a request.
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

    /// When PostgreSQL is away or hangs, the answer is with the client within 2 s.
    public static let defaultPatience = Duration.milliseconds(1500)

    /// Until when to wait for PostgreSQL, however patient the caller is.
    public var forDatabase: ContinuousClock.Instant {
        capped(at: patience).instant
    }

    /// Does work that ends with the deadline: its task is cancelled then.
    ///
    /// Work that pays no heed to cancellation is waited for all the same.
    ///
    /// - Throws: `TIMEOUT` when the deadline has come first; else what `work` throws.
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

    /// What is left in whole milliseconds, as it is told to the next service.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = remaining.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}

extension GatehouseRequestContext {
    /// The longest that a long poll may wait, in seconds.
    public static let longestPoll = 30

    /// Until when a long poll waits that says `wait=SECONDS`: a little less than its caller does, so that the answer
    /// still reaches it.
    ///
    /// - Throws: `INVALID_REQUEST` where that is no number of seconds.
    public func longPollEnd(of request: Request) throws(Problem) -> ContinuousClock.Instant {
        var seconds = 0
        if let text = request.uri.queryParameters.get("wait") {
            guard let value = Int(text), value >= 0 else { throw Problem.invalid("wait", "Want whole seconds.") }
            seconds = min(value, Self.longestPoll)
        }
        return deadline.capped(at: .seconds(seconds)).instant - .milliseconds(100)
    }
}
