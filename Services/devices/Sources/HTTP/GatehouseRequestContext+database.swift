import ServiceKit

extension GatehouseRequestContext {
    /// When a statement is given up: before the caller stops waiting, and early enough that a PostgreSQL that has
    /// stopped is answered with 503 within two seconds.
    var databaseDeadline: ContinuousClock.Instant {
        deadline.capped(at: .milliseconds(1500)).instant
    }
}
