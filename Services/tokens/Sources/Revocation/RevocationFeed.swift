import Foundation
import GatehouseServiceContracts
import Logging
import Postgres
import ServiceKitPostgres

/// The revocation feed (`GET /internal/revocations`): delivers each revoked session to every reader at least once, in
/// no particular order.
struct RevocationFeed: Sendable {
    let sequencer: SequencedFeed
    private let all: SequencedFeed.View<RevocationPage.Entry>
    private let alive: SequencedFeed.View<RevocationPage.Entry>
    private let access: SequencedFeed.View<AccessRevocationPage.Entry>

    /// The sessions whose access tokens can still be accepted, for readers that verify access tokens. Clocks may differ
    /// by five minutes. A session that expired had its last access token before, so it is left out.
    private static let accessTokensAlive = """
        access_expires_at > (SELECT statement_timestamp() - interval '5 minutes') \
        AND reason <> '\(RevocationReason.expired.rawValue)'
        """
    /// Together with the time that sequencing and delivering take, less than the second in which every gateway refuses
    /// a revoked session, also where the replica that revoked it died.
    private static let interval = Duration.milliseconds(700)
    private static let age = "greatest(0, date_part('epoch', clock_timestamp() - revoked_at)) AS age"

    init(database: PostgresPool, pageSize: Int = 1000, logger: Logger) {
        sequencer = SequencedFeed(
            log: "revocation_log", function: "stamp_revocations", database: database, interval: Self.interval,
            sequencesAtOnce: true, logger: logger)
        let columns = "session_id, user_id, revoked_at, \(Self.age), access_expires_at, reason"
        all = .init(columns: columns, pageSize: pageSize) { try RevocationPage.Entry($0) }
        alive = .init(columns: columns, condition: Self.accessTokensAlive, pageSize: pageSize) {
            try RevocationPage.Entry($0)
        }
        access = .init(
            columns: "session_id, ceil(date_part('epoch', access_expires_at))::bigint AS expires_at, \(Self.age)",
            condition: Self.accessTokensAlive, pageSize: 2 * pageSize
        ) { try AccessRevocationPage.Entry($0) }
    }

    /// The entries after `cursor`. If none exist yet, waits for entries until `end`.
    ///
    /// - Parameters:
    ///   - cursor: the cursor of an earlier page. `nil` or empty begins with the oldest entry,
    ///     ``RevocationPage/latest`` at the end.
    ///   - verifiesOnly: whether the reader verifies access tokens, and needs no other sessions.
    func page(
        after cursor: String?, verifiesOnly: Bool = false, waitingUntil end: ContinuousClock.Instant
    ) async throws -> RevocationPage {
        let page = try await sequencer.page(verifiesOnly ? alive : all, after: cursor, waitingUntil: end)
        return RevocationPage(entries: page.entries, cursor: page.cursor, reset: page.reset, more: page.more)
    }

    /// What a verifier of access tokens needs of the entries after `cursor`.
    func accessPage(
        after cursor: String?, waitingUntil end: ContinuousClock.Instant
    ) async throws -> AccessRevocationPage {
        let page = try await sequencer.page(access, after: cursor, waitingUntil: end)
        return AccessRevocationPage(
            entries: page.entries, cursor: page.cursor, reset: page.reset, more: page.more)
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

extension AccessRevocationPage.Entry {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            sessionID: try row.decode("session_id"), accessExpiresAt: try row.decode("expires_at"),
            age: try row.decode("age"))
    }
}
