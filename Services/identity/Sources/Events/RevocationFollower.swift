import Contracts
import Foundation
import Instruments
import Logging
import Postgres
import ServiceKit
import ServiceLifecycle

/// Follows tokens' revocation feed, so that the audit log and the events include every session that ends.
///
/// One replica follows at a time. Another replica continues from its position once the claim has expired, or at once
/// where the claim was released.
struct RevocationFollower: Service {
    /// Seconds for which tokens holds a request while there are no new entries.
    static let wait = 20
    /// The pause between two attempts to claim the feed.
    private static let interval = Duration.seconds(1)
    private static let backoff: ClosedRange<Double> = 0.5...8

    let tokens: TokensClient
    let store: RevocationStore
    let logger: Logger
    private let failures = Counter(
        "identity_revocation_feed_failed_total",
        help: "Failed attempts to read the revocation feed of tokens, or to store its entries.")
    private let resets = Counter(
        "identity_revocation_feed_resets_total",
        help: "How often the feed had to be read from its beginning, with entries lost.")
    private let readAt = Gauge(
        "identity_revocation_feed_read_timestamp_seconds",
        help: "When a replica last read the revocation feed to its end, in seconds since 1970.")

    init(tokens: TokensClient, store: RevocationStore, logger: Logger) {
        self.tokens = tokens
        self.store = store
        self.logger = logger
    }

    /// The version of tokens cannot say where its feed ends.
    struct UnknownEnd: Error {}

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await follow() }
                group.addTask {
                    while !Task.isCancelled {
                        if let time = try? await store.readAt() { readAt.set(time.timeIntervalSince1970) }
                        try? await Task.sleep(for: .seconds(10))
                    }
                }
            }
        }
    }

    private func follow() async {
        var claim: RevocationStore.Claim?
        await followRevocations(pauses: Self.backoff) {
            if claim == nil { claim = try await store.claim() }
            guard let held = claim else { return try await Task.sleep(for: Self.interval) }
            claim = try await readPage(held)
        } onFailure: { error, _ in
            await release(claim)
            claim = nil
            failures.increment()
            logger.warning("revocation feed not read", metadata: ["error": "\(error)"])
        }
        await release(claim)
    }

    /// Reads the page after the claim's cursor, and stores it. Without a cursor it begins at the feed's end.
    /// - Returns: the claim for the next page; `nil` where another process has the feed now.
    func readPage(
        _ claim: RevocationStore.Claim, waiting seconds: Int = wait
    ) async throws -> RevocationStore.Claim? {
        let page = try await tokens.client.revocations(after: claim.cursor ?? RevocationPage.latest, waiting: seconds)
        if page.reset {
            guard claim.cursor != nil else { throw UnknownEnd() }
            // Entries that tokens removed before they were read are lost. The remaining ones are read again.
            logger.error("revocation feed was lost: the audit log and events may lack the end of some sessions")
            resets.increment()
        }
        return try await store.write(page, claim)
    }

    /// If this fails, the claim expires.
    private func release(_ claim: RevocationStore.Claim?) async {
        guard let claim else { return }
        // Runs also when this task has been cancelled.
        await Task { try? await store.release(claim) }.value
    }
}

/// The position in tokens' revocation feed (table `revocation_feed`), and the sessions whose end it reported.
///
/// Its statements use the pool's reserve, so that the feed is followed even while requests hold all other connections.
struct RevocationStore: Sendable {
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
            SELECT at, user_id, \(AuditActor.system.rawValue), 'session_revoked', reason, session_id
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
