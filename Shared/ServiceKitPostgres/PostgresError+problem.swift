public import Contracts
public import Postgres
public import ServiceKit

extension PostgresError: ProblemConvertible {
    /// `UNAVAILABLE` while PostgreSQL is away or slow; anything else is a fault of ours.
    public var problem: Problem {
        Problem(isUnavailable || code == .cancelled ? .unavailable : .internal)
    }
}
