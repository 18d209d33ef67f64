import Contracts
import Foundation
import Postgres
import ServiceKitPostgres

/// The revocation feed (`GET /internal/revocations`): gives every reader each revoked session at least once, in no
/// special order.
struct RevocationFeed: Sendable {
    private let feed: TransactionFeed<RevocationPage.Entry>

    /// - Parameter pollInterval: how often the feed is queried for a reader that waits. A revoked session's access token
    ///   is to be refused everywhere within a second, and this interval is a part of that second.
    init(pool: PostgresPool, pageSize: Int = 1000, pollInterval: Duration = .milliseconds(150)) {
        feed = TransactionFeed(
            .init(
                table: "revocations", horizon: "revocation_horizon", epoch: "revocation_epoch",
                columns: """
                    session_id, user_id, revoked_at,
                    greatest(0, extract(epoch FROM clock_timestamp() - revoked_at)::double precision), access_expires_at,
                    reason
                    """),
            pool: pool, pageSize: pageSize, pollInterval: pollInterval, decode: Self.entry)
    }

    /// The entries after `cursor`; if there are none yet, waits for some until `end`.
    ///
    /// - Parameter cursor: that of an earlier page; `nil` or empty begins with the oldest entry,
    ///   ``RevocationPage/latest`` at the end.
    func page(after cursor: String?, waitingUntil end: ContinuousClock.Instant) async throws -> RevocationPage {
        if cursor == RevocationPage.latest {
            return RevocationPage(entries: [], cursor: try await feed.end(), reset: false, more: false)
        }
        let page = try await feed.page(after: cursor, waitingUntil: end)
        return RevocationPage(entries: page.entries, cursor: page.cursor, reset: page.reset, more: page.more)
    }

    @Sendable private static func entry(_ row: PostgresRow) throws -> RevocationPage.Entry {
        let first = TransactionFeed<RevocationPage.Entry>.firstColumn
        return RevocationPage.Entry(
            sessionID: try row.decode(column: first), userID: try row.decode(column: first + 1),
            revokedAt: try row.decode(column: first + 2), age: try row.decode(column: first + 3),
            accessExpiresAt: try row.decode(column: first + 4),
            reason: RevocationReason(rawValue: try row.decode(column: first + 5)))
    }
}
