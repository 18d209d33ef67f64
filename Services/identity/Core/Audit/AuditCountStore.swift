import Foundation
package import Postgres

/// Sign-ins, refused sign-ins and registrations in steps of five minutes (table `audit_counts`).
///
/// Entries are added up in the order of their numbers, each once. The last few are counted when the figures are read.
package struct AuditCountStore: Sendable {
    let database: PostgresPool

    package init(database: PostgresPool) {
        self.database = database
    }

    /// Entries that are added up in one transaction.
    static let batch = 5000
    /// The most entries that are read in addition to those already added up.
    static let mostUncounted = 20_000
    /// Seconds that one row covers.
    static let step = 300

    /// Adds up the next entries. Does nothing while another replica does it.
    /// - Returns: the number of entries added up.
    func countNext(limit: Int = batch) async throws -> Int {
        try await database.withTransaction { transaction in
            let through = try await transaction.query(
                "SELECT counted_through FROM audit_counts_progress WHERE only_row FOR UPDATE SKIP LOCKED"
            ).first?.decode(Int64.self)
            guard let through else { return 0 }
            let (count, last) = try await transaction.query(
                """
                WITH next AS (
                    SELECT seq, audit_entries.at, event, count FROM audit_log JOIN audit_entries ON id = entry_id
                    WHERE seq > \(through) ORDER BY seq LIMIT \(limit)
                ), added AS (
                    INSERT INTO audit_counts AS c (at, signed_in, sign_in_refused, registered)
                    SELECT to_timestamp(\(unescaped: Self.stepOfEntry)),
                        coalesce(sum(count) FILTER (WHERE event = 'signed_in'), 0),
                        coalesce(sum(count) FILTER (WHERE event = 'sign_in_refused'), 0),
                        coalesce(sum(count) FILTER (WHERE event = 'registered'), 0)
                    FROM next WHERE event IN ('signed_in', 'sign_in_refused', 'registered') GROUP BY 1
                    ON CONFLICT (at) DO UPDATE SET signed_in = c.signed_in + excluded.signed_in,
                        sign_in_refused = c.sign_in_refused + excluded.sign_in_refused,
                        registered = c.registered + excluded.registered
                )
                SELECT count(*), coalesce(max(seq), \(through)) FROM next
                """
            )[0].decode((Int, Int64).self)
            guard count > 0 else { return 0 }
            try await transaction.query("UPDATE audit_counts_progress SET counted_through = \(last) WHERE only_row")
            return count
        }
    }

    /// Counts of the last 25 hours. Reads 300 rows, and the entries that are not added up yet.
    package func recent() async throws -> [AuditCount] {
        try await database.query(Self.recentCounts)
            .decode((Int64, Int, Int, Int).self)
            .map { AuditCount(at: $0, signIns: $1, refusals: $2, registrations: $3) }
    }

    static var recentCounts: PostgresQuery {
        """
        SELECT step, sum(signed_in)::bigint, sum(sign_in_refused)::bigint, sum(registered)::bigint
        FROM (
            SELECT extract(epoch FROM at)::bigint AS step, signed_in, sign_in_refused, registered
            FROM audit_counts WHERE at > now() - interval '25 hours'
            UNION ALL
            SELECT \(unescaped: Self.stepOfEntry)::bigint, CASE event WHEN 'signed_in' THEN count ELSE 0 END,
                CASE event WHEN 'sign_in_refused' THEN count ELSE 0 END,
                CASE event WHEN 'registered' THEN count ELSE 0 END
            FROM (
                (SELECT entry_id FROM audit_log
                WHERE seq > (SELECT counted_through FROM audit_counts_progress WHERE only_row)
                ORDER BY seq LIMIT \(Self.mostUncounted))
                UNION ALL
                (SELECT entry_id FROM pending_audit_entries LIMIT \(Self.mostUncounted))) uncounted
            JOIN audit_entries ON id = entry_id
            WHERE at > now() - interval '25 hours' AND event IN ('signed_in', 'sign_in_refused', 'registered')
        ) counted
        GROUP BY step ORDER BY step
        """
    }

    /// The step of an entry's time, in seconds since 1970.
    private static let stepOfEntry = "(floor(extract(epoch FROM at) / \(step)) * \(step))"
}
