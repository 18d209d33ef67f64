import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres

/// The state of following tokens' revocation feed: the cursor, and the sessions that may no longer register.
///
/// Its statements use the pool's reserve, so that devices are detached even while requests hold all other connections.
struct RevokedSessionStore: Sendable {
    /// Sessions revoked in one transaction. Each takes a lock, and PostgreSQL has room for some thousands of locks.
    private static let batchSize = 200
    /// Seconds for which a session stays barred after its last access token has expired, because clocks differ.
    private static let clockMargin: TimeInterval = 300
    /// The longest time in seconds for which a session stays barred. A date that no table takes would hold up the feed.
    private static let longestBar: TimeInterval = 366 * 86_400

    let database: PostgresPool

    /// The position up to which the feed has been read.
    struct Position: Sendable, Equatable {
        /// The cursor of the next page; `nil` before the first page.
        var cursor: String?
        /// When the feed was last read to its end; `nil` before that.
        var readAt: Date?
        /// After a reset, the last session that was checked; `nil` when all are.
        var checkedThrough: UUID?

        /// Whether `readAt` is so old that it must be stored again even if the feed has no new entries.
        func isStale(at now: Date) -> Bool {
            now.timeIntervalSince(readAt ?? .distantPast) >= 3600
        }
    }

    func position() async throws(PostgresError) -> Position {
        let rows = try await database.query(
            "SELECT cursor, read_at, checked_through FROM revocation_feed", usesReserve: true)
        let (cursor, readAt, checkedThrough) = try rows[0].decode((String?, Date?, UUID?).self)
        return Position(cursor: cursor, readAt: readAt, checkedThrough: checkedThrough)
    }

    /// Detaches the devices of the page's sessions, bars the sessions from registering, and moves the cursor in the
    /// same transaction. Idempotent: a session that is already barred costs one lookup. If replicas read the same page
    /// at the same time, one of them applies it.
    ///
    /// - Parameter cursor: the cursor with which the page was requested.
    /// - Returns: the number of detached devices; `nil` when another replica has moved the cursor meanwhile, and thus
    ///   applied the page.
    func apply(_ page: RevocationPage, after cursor: String?) async throws -> Int? {
        var detached = 0
        var rest = page.entries[...]
        repeat {
            let batch = Array(rest.prefix(Self.batchSize))
            rest = rest.dropFirst(Self.batchSize)
            let isLast = rest.isEmpty
            // No request waits for this transaction, so its deadline may be longer than a request's.
            let deadline = ContinuousClock.now + .seconds(30)
            let count: Int? = try await database.withTransaction(deadline: deadline, usesReserve: true) { transaction in
                let current = try await transaction.query("SELECT cursor FROM revocation_feed FOR UPDATE")
                guard try current.first?.decode(String?.self) == .some(cursor) else { return nil }
                let count = try await Self.revoke(batch.map { ($0.sessionID, $0.accessExpiresAt) }, on: transaction)
                if isLast { try await Self.move(past: page, on: transaction) }
                return count
            }
            guard let count else { return nil }
            detached += count
        } while !rest.isEmpty
        return detached
    }

    private static func revoke(
        _ ended: [(session: UUID, accessExpiresAt: Date)], on transaction: PostgresTransaction
    ) async throws(PostgresError) -> Int {
        // Bar all first: each takes a lock (see `session_is_live`), and a registration that holds the lock of another
        // one may wait for a row that is detached here.
        let rows = try await transaction.query(
            """
            SELECT session FROM unnest(
                \(buckets(ended.map(\.session))), \(ended.map(\.session)),
                \(ended.map { barredUntil($0.accessExpiresAt) })
            ) AS ended (bucket, session, barred_until)
            WHERE bar_session(bucket, session, barred_until)
            """)
        let barred = try rows.decode(UUID.self)
        // A new statement, which sees every registration that was committed before.
        let detached = try await transaction.query(
            """
            SELECT coalesce(sum(detach_session(bucket, session)), 0)
            FROM unnest(\(buckets(barred)), \(barred)) AS barred (bucket, session)
            """
        ).decode(Int64.self)
        return detached.map(Int.init).reduce(0, +)
    }

    private static func barredUntil(_ accessExpiresAt: Date) -> Date {
        let now = Date.now
        return min(max(accessExpiresAt, now - longestBar), now + longestBar) + clockMargin
    }

    private static func buckets(_ sessions: [UUID]) -> [Int16] {
        sessions.map { Bucket(session: $0).rawValue }
    }

    private static func move(past page: RevocationPage, on transaction: PostgresTransaction) async throws(PostgresError)
    {
        try await transaction.query(
            """
            UPDATE revocation_feed SET cursor = \(page.cursor),
                read_at = CASE WHEN \(page.more) THEN read_at ELSE statement_timestamp() END,
                checked_through = CASE WHEN \(page.reset) THEN \(Self.beforeAll) ELSE checked_through END
            """)
    }

    // MARK: - After a reset

    /// Sorts before every session.
    private static let beforeAll = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    /// Seconds for which a session stays barred that is found to have ended. Its access tokens' lifetime is not known
    /// here; the default is an hour.
    private static let barLifetime: TimeInterval = 86400

    /// The next sessions with a registration, in order. A session begins with its bucket, so both have one order.
    func registeredSessions(after session: UUID, limit: Int) async throws(PostgresError) -> [UUID] {
        try await database.query(
            """
            SELECT DISTINCT bucket, session_id FROM devices
            WHERE (bucket, session_id) > (\(Bucket(session: session)), \(session))
            ORDER BY bucket, session_id LIMIT \(limit)
            """, usesReserve: true
        ).decode((Int16, UUID).self).map { $1 }
    }

    /// Detaches the devices of the `ended` ones among the sessions after `start`, up to `end`.
    ///
    /// - Parameter end: the last session that was checked; `nil` when no more are left.
    /// - Returns: the number of detached devices; `nil` when another replica has checked these sessions meanwhile.
    func detach(_ ended: [UUID], checkedFrom start: UUID, through end: UUID?) async throws -> Int? {
        let deadline = ContinuousClock.now + .seconds(30)
        return try await database.withTransaction(deadline: deadline, usesReserve: true) { transaction in
            let current = try await transaction.query("SELECT checked_through FROM revocation_feed FOR UPDATE")
            guard try current.first?.decode(UUID?.self) == .some(start) else { return nil }
            let expiry = Date.now + Self.barLifetime
            let count = try await Self.revoke(ended.map { ($0, expiry) }, on: transaction)
            try await transaction.query("UPDATE revocation_feed SET checked_through = \(end)")
            return count
        }
    }

    /// Deletes barred sessions whose access tokens have all expired, at most `batch` at a time.
    ///
    /// - Returns: the number of deleted sessions; fewer than `batch` when no more are left.
    func purge(batch: Int) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM revoked_sessions WHERE (bucket, session_id) IN (
                SELECT bucket, session_id FROM revoked_sessions WHERE expires_at < statement_timestamp()
                ORDER BY expires_at LIMIT \(batch) FOR UPDATE SKIP LOCKED)
            """, usesReserve: true
        ).affectedRows
    }
}
