import ServiceKit

extension Deadline {
    /// Until when a statement may wait for PostgreSQL: less than two seconds, however patient the caller is, so that
    /// whoever needs it while it is away is told in time.
    var forStatement: ContinuousClock.Instant {
        capped(at: .milliseconds(1800)).instant
    }
}
