import Contracts
import Postgres

/// Figures for operators: cheap however many users there are, since each count ends at a bound.
struct FigureStore: Sendable {
    let database: PostgresPool

    /// Up to here users are counted; beyond, PostgreSQL's own estimate does.
    static let usersCounted = 10_000
    static let mostCounted = 100_000

    func figures(deadline: ContinuousClock.Instant) async throws -> AdminFigures {
        let row = try await database.query(
            """
            SELECT
                (SELECT count(*) FROM (SELECT FROM users LIMIT \(Self.usersCounted + 1)) few),
                (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'users'::regclass),
                (SELECT count(*) FROM
                    (SELECT FROM users WHERE state = 'disabled' LIMIT \(Self.mostCounted)) disabled),
                signed_in.hour, signed_in.day, refused.hour, refused.day, registered.hour, registered.day,
                (SELECT count(*) FROM
                    (SELECT FROM outbox WHERE kind = 'deletion' LIMIT \(Self.mostCounted)) deletions),
                now()
            FROM \(lately: .signedIn) signed_in, \(lately: .signInRefused) refused, \(lately: .registered) registered
            """, deadline: deadline)[0]
        let (few, estimate): (Int, Int) = (try row.decode(column: 0), try row.decode(column: 1))
        return AdminFigures(
            users: few > Self.usersCounted ? max(estimate, few) : few,
            disabledUsers: try row.decode(column: 2),
            signIns: .init(hour: try row.decode(column: 3), day: try row.decode(column: 4)),
            refusedSignIns: .init(hour: try row.decode(column: 5), day: try row.decode(column: 6)),
            registrations: .init(hour: try row.decode(column: 7), day: try row.decode(column: 8)),
            pendingDeletions: try row.decode(column: 9), mostCounted: Self.mostCounted,
            asOf: try row.decode(column: 10))
    }
}

extension PostgresQuery.Interpolation {
    /// How often something has happened in the last hour and day. An entry may tell of several times.
    fileprivate mutating func appendInterpolation(lately event: AuditEvent) {
        appendLiteral(
            """
            (SELECT coalesce(sum(count) FILTER (WHERE at > now() - interval '1 hour'), 0)::bigint AS hour,
                coalesce(sum(count), 0)::bigint AS day
            FROM (SELECT at, count FROM audit_entries WHERE event =
            """)
        appendLiteral(" ")
        appendInterpolation(event.rawValue)
        appendLiteral(" AND at > now() - interval '1 day' ORDER BY at DESC LIMIT ")
        appendInterpolation(FigureStore.mostCounted)
        appendLiteral(") latest)")
    }
}
