/// The moment at which the caller stops waiting for the response. Each call in a chain has an earlier deadline.
///
/// Work on a request reads the request's deadline from ``current``. Child tasks and `Task {}` inherit it. Work that
/// outlives the request, or that several requests share, sets its own: ``with(_:isolation:operation:)``.
public struct Deadline: Sendable, Equatable {
    public let instant: ContinuousClock.Instant
    /// The timeout for PostgreSQL.
    private let databaseTimeout: Duration

    public init(_ instant: ContinuousClock.Instant, databaseTimeout: Duration = Deadline.defaultDatabaseTimeout) {
        self.instant = instant
        self.databaseTimeout = databaseTimeout
    }

    /// A deadline that lies `duration` ahead.
    public static func after(_ duration: Duration) -> Deadline {
        Deadline(.now.advanced(by: duration))
    }

    /// The remaining time; never negative.
    public var remaining: Duration {
        max(.zero, ContinuousClock.now.duration(to: instant))
    }

    public var hasPassed: Bool {
        instant <= .now
    }

    /// The earlier of this one and one that lies `duration` ahead.
    public func capped(at duration: Duration) -> Deadline {
        Deadline(min(instant, .now.advanced(by: duration)), databaseTimeout: databaseTimeout)
    }

    package func earlier(by duration: Duration) -> Deadline {
        Deadline(instant - duration, databaseTimeout: databaseTimeout)
    }

    /// How long a request waits for PostgreSQL unless a setting says otherwise. A request whose first statement hangs
    /// is answered within 2 s; one that must first revoke a session takes longer.
    public static let defaultDatabaseTimeout = Duration.milliseconds(1500)

    /// A new deadline for each statement: that far from now, never after the caller's.
    public var forDatabase: Deadline {
        capped(at: databaseTimeout)
    }

    /// The remaining time in whole milliseconds, as sent to the next service.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = remaining.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}

extension Deadline {
    @TaskLocal private static var ofTask: Deadline?

    /// The deadline of the current work; `nil` where no caller waits for it.
    public static var current: Deadline? { ofTask }

    /// Runs `operation` with another current deadline, or with none.
    @discardableResult
    public static func with<Value, Failure: Error>(
        _ deadline: Deadline?, isolation: isolated (any Actor)? = #isolation,
        operation: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        do {
            return try await $ofTask.withValue(deadline, operation: operation)
        } catch {
            // `withValue` rethrows what `operation` throws, without its type.
            throw error as! Failure
        }
    }

    /// Runs `operation` to its end, even if the current task is cancelled or its deadline has passed.
    public static func shielded(_ operation: @escaping @Sendable () async -> Void) async {
        await Task { await with(nil, operation: operation) }.value
    }
}
