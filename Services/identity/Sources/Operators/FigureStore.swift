import Foundation
import GatehouseServiceContracts
import IdentityCore
import Postgres

/// Figures for operators. Their cost does not grow with the number of users, because each count has a limit.
struct FigureStore: Sendable {
    let database: PostgresPool
    let counts: AuditCountStore

    /// Rows that each count reads at most. For users, PostgreSQL's own estimate is used beyond it.
    static let mostCounted = 10_000

    init(database: PostgresPool) {
        self.database = database
        counts = AuditCountStore(database: database)
    }

    static var present: PostgresQuery {
        """
        SELECT
            (SELECT count(*) FROM (SELECT FROM users LIMIT \(mostCounted + 1)) few) AS users,
            (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'users'::regclass) AS estimated_users,
            (SELECT count(*) FROM (SELECT FROM users WHERE state = 'disabled' LIMIT \(mostCounted)) disabled)
                AS disabled_users,
            (SELECT count(*) FROM (SELECT FROM outbox WHERE kind = 'deletion' LIMIT \(mostCounted)) deletions)
                AS pending_deletions,
            now() AS as_of
        """
    }

    func figures() async throws -> AdminFigures {
        let steps = try await counts.recent()
        let row = try await database.query(Self.present)[0]
        let users: Int = try row.decode("users")
        let asOf: Date = try row.decode("as_of")
        let now = Int64(asOf.timeIntervalSince1970)
        let hour = AuditCount.sum(of: steps, within: 3600, before: now)
        let day = AuditCount.sum(of: steps, within: 86_400, before: now)
        return AdminFigures(
            users: users > Self.mostCounted ? max(try row.decode("estimated_users"), users) : users,
            disabledUsers: try row.decode("disabled_users"),
            signIns: .init(hour: hour.signIns, day: day.signIns),
            refusedSignIns: .init(hour: hour.refusals, day: day.refusals),
            registrations: .init(hour: hour.registrations, day: day.registrations),
            pendingDeletions: try row.decode("pending_deletions"), mostCounted: Self.mostCounted, asOf: asOf,
            hours: AuditCount.hours(of: steps, before: now).map {
                AdminFigures.Hour(
                    from: Date(timeIntervalSince1970: TimeInterval($0.at)), signIns: $0.signIns,
                    refusedSignIns: $0.refusals, registrations: $0.registrations)
            })
    }
}
