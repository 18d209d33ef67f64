import Contracts
import Foundation
import Logging
import Postgres
import ServiceKitPostgres

/// The revocation feed (`GET /internal/revocations`): delivers each revoked session to every reader at least once, in
/// no particular order.
struct RevocationFeed: Sendable {
    let stamped: StampedFeed<RevocationPage.Entry>

    /// Which entries a reader gets. Its cursor passes over the others.
    enum Selection: Sendable {
        case all
        /// The sessions whose access tokens can still be accepted, for readers that verify access tokens. Clocks may
        /// differ by five minutes. A session that expired had its last access token before, so it is left out.
        case accessTokensAlive

        fileprivate var condition: String {
            switch self {
            case .all: "true"
            case .accessTokensAlive:
                """
                access_expires_at > statement_timestamp() - interval '5 minutes' \
                AND reason <> '\(RevocationReason.expired.rawValue)'
                """
            }
        }
    }

    init(database: PostgresPool, pageSize: Int = 1000, logger: Logger) {
        stamped = StampedFeed(
            .init(
                log: "revocation_log", stamp: "stamp_revocations",
                columns: """
                    session_id, user_id, revoked_at,
                    greatest(0, extract(epoch FROM clock_timestamp() - revoked_at)::double precision) AS age,
                    access_expires_at, reason
                    """),
            database: database, pageSize: pageSize, logger: logger, decode: { try RevocationPage.Entry($0) })
    }

    /// The entries after `cursor`. If none exist yet, waits for entries until `end`.
    ///
    /// - Parameter cursor: the cursor of an earlier page. `nil` or empty begins with the oldest entry,
    ///   ``RevocationPage/latest`` at the end.
    func page(
        after cursor: String?, selecting selection: Selection = .all, waitingUntil end: ContinuousClock.Instant
    ) async throws -> RevocationPage {
        if cursor == RevocationPage.latest {
            return RevocationPage(entries: [], cursor: try await stamped.end(), reset: false, more: false)
        }
        let page = try await stamped.page(after: cursor, where: selection.condition, waitingUntil: end)
        return RevocationPage(entries: page.entries, cursor: page.cursor, reset: page.reset, more: page.more)
    }
}

extension RevocationPage.Entry {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            sessionID: try row.decode("session_id"), userID: try row.decode("user_id"),
            revokedAt: try row.decode("revoked_at"), age: try row.decode("age"),
            accessExpiresAt: try row.decode("access_expires_at"),
            reason: RevocationReason(rawValue: try row.decode("reason")))
    }
}
