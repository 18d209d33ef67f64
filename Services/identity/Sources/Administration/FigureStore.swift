import Contracts
import Foundation
import Postgres

/// Figures for operators: cheap however many users there are, since each count ends at a bound.
struct FigureStore: Sendable {
    let database: PostgresPool
    let counts: AuditCountStore

    /// Up to here users are counted; beyond, PostgreSQL's own estimate does.
    static let usersCounted = 10_000
    static let mostCounted = 100_000

    init(database: PostgresPool) {
        self.database = database
        counts = AuditCountStore(database: database)
    }

    func figures(deadline: ContinuousClock.Instant) async throws -> AdminFigures {
        let steps = try await counts.recent(deadline: deadline)
        let row = try await database.query(
            """
            SELECT
                (SELECT count(*) FROM (SELECT FROM users LIMIT \(Self.usersCounted + 1)) few),
                (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'users'::regclass),
                (SELECT count(*) FROM
                    (SELECT FROM users WHERE state = 'disabled' LIMIT \(Self.mostCounted)) disabled),
                (SELECT count(*) FROM
                    (SELECT FROM outbox WHERE kind = 'deletion' LIMIT \(Self.mostCounted)) deletions),
                now()
            """, deadline: deadline)[0]
        let (few, estimate): (Int, Int) = (try row.decode(column: 0), try row.decode(column: 1))
        let asOf: Date = try row.decode(column: 4)
        let now = Int64(asOf.timeIntervalSince1970)
        let hour = AuditCount.sum(of: steps, within: 3600, before: now)
        let day = AuditCount.sum(of: steps, within: 86_400, before: now)
        return AdminFigures(
            users: few > Self.usersCounted ? max(estimate, few) : few,
            disabledUsers: try row.decode(column: 2),
            signIns: .init(hour: hour.signIns, day: day.signIns),
            refusedSignIns: .init(hour: hour.refusals, day: day.refusals),
            registrations: .init(hour: hour.registrations, day: day.registrations),
            pendingDeletions: try row.decode(column: 3), mostCounted: Self.mostCounted, asOf: asOf,
            hours: AuditCount.hours(of: steps, before: now).map {
                AdminFigures.Hour(
                    from: Date(timeIntervalSince1970: TimeInterval($0.at)), signIns: $0.signIns,
                    refusedSignIns: $0.refusals, registrations: $0.registrations)
            })
    }
}
