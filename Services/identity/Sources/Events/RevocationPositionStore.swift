import Foundation
import GatehouseServiceContracts
import IdentityCore
import Postgres

/// The position in tokens' revocation feed (table `revocation_feed`), and the sessions whose end it reported.
///
/// Its statements use the pool's reserve, so that the feed is followed even while requests hold all other connections.
struct RevocationPositionStore: Sendable {
    let database: PostgresPool

    /// The right to continue reading the feed.
    struct Claim: Sendable, Equatable {
        /// `nil` where the feed was never read.
        var cursor: String?
        /// Increases with each claim, so that a process that has lost its claim writes nothing.
        var revision: Int64
    }

    /// Seconds for which the feed belongs to the process that claimed it or wrote the last page. Longer than a page
    /// takes.
    static let claimLifetime = 40.0
    /// No client waits for a page to be written.
    private static let timeout = Duration.seconds(10)

    /// - Returns: `nil` while another process has the claim.
    func claim() async throws -> Claim? {
        try await database.query(
            """
            UPDATE revocation_feed SET revision = revision + 1,
                claimed_until = now() + make_interval(secs => \(Self.claimLifetime))
            WHERE claimed_until <= now()
            RETURNING cursor, revision
            """, usesReserve: true
        ).first.map { row in
            let (cursor, revision) = try row.decode((String?, Int64).self)
            return Claim(cursor: cursor, revision: revision)
        }
    }

    /// Lets another process continue at once.
    func release(_ claim: Claim) async throws {
        try await database.query(
            "UPDATE revocation_feed SET claimed_until = now() WHERE revision = \(claim.revision)", usesReserve: true)
    }

    /// Writes the page's sessions into the audit log, and moves the cursor, in one transaction. A session that is
    /// already there is left out, because after a reset the feed repeats entries.
    /// - Returns: the claim for the next page; `nil` where another process has the feed, and nothing was written.
    func write(_ page: RevocationPage, _ claim: Claim) async throws -> Claim? {
        let deadline = ContinuousClock.now + Self.timeout
        let isMine = try await database.withTransaction(deadline: deadline, usesReserve: true) { transaction in
            let moved = try await transaction.query(
                """
                UPDATE revocation_feed SET cursor = \(page.cursor),
                    claimed_until = now() + make_interval(secs => \(Self.claimLifetime)),
                    read_at = CASE WHEN \(page.more) THEN read_at ELSE now() END
                WHERE revision = \(claim.revision)
                """)
            guard moved.affectedRows == 1 else { return false }
            if !page.entries.isEmpty { try await Self.add(page.entries, on: transaction) }
            return true
        }
        return isMine ? Claim(cursor: page.cursor, revision: claim.revision) : nil
    }

    private static func add(_ entries: [RevocationPage.Entry], on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            """
            INSERT INTO audit_entries (at, user_id, actor, event, detail, session_id)
            SELECT at, user_id, \(AuditActor.system.rawValue), \(AuditEvent.sessionRevoked.rawValue), reason, session_id
            FROM unnest(
                \(entries.map(\.revokedAt)), \(entries.map(\.userID)), \(entries.map(\.reason.rawValue)),
                \(entries.map(\.sessionID))
            ) WITH ORDINALITY AS ended (at, user_id, reason, session_id, n)
            ORDER BY n
            ON CONFLICT (session_id) WHERE event = 'session_revoked' DO NOTHING
            """)
    }

    /// When a process last reached the feed's end.
    func readAt() async throws -> Date? {
        try await database.query("SELECT read_at FROM revocation_feed", usesReserve: true).first?.decode(Date.self)
    }
}

extension AuditEvent {
    /// A session has ended, for the reason that tokens reported.
    static let sessionRevoked = Self("session_revoked", published: .sessionRevoked)

    static let ofRevocations = [sessionRevoked]
}
