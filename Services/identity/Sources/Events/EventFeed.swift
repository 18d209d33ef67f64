import Contracts
import Foundation
import Postgres
import ServiceKitPostgres

/// What happened to users, for other systems (`GET /internal/events`): the audit log's entries, without their actors and
/// origins, for as long as the log is kept.
struct EventFeed: Sendable {
    private let feed: TransactionFeed<AccountEvent?>

    /// The cursor with which a reader begins that wants nothing of before.
    static let latest = "latest"

    static let pageSize = 1000

    init(database: PostgresPool, pageSize: Int = pageSize) {
        feed = TransactionFeed(
            .init(
                table: "audit_entries", horizon: "event_horizon", epoch: "event_epoch",
                columns: "event, at, user_id, session_id"),
            pool: database, pageSize: pageSize, pollInterval: .milliseconds(500), decode: Self.event)
    }

    /// The events after `cursor`; if there are none yet, waits for some until `end`. A page may be empty sooner, since
    /// the audit log has entries that are no events.
    ///
    /// - Parameter cursor: that of an earlier page; `nil` or empty begins with the oldest event, ``latest`` at the end.
    func page(after cursor: String?, waitingUntil end: ContinuousClock.Instant) async throws -> AccountEventPage {
        if cursor == Self.latest {
            return AccountEventPage(events: [], cursor: try await feed.end(), reset: false, more: false)
        }
        let page = try await feed.page(after: cursor, waitingUntil: end)
        return AccountEventPage(
            events: page.entries.compactMap(\.self), cursor: page.cursor, reset: page.reset, more: page.more)
    }

    @Sendable private static func event(_ row: PostgresRow) throws -> AccountEvent? {
        let first = TransactionFeed<AccountEvent?>.firstColumn
        guard let type = AccountEventType(auditing: try row.decode(String.self, column: first)) else { return nil }
        let session: UUID? = try row.decode(column: first + 3)
        return AccountEvent(
            id: String(try row.decode(Int64.self, column: 1)), type: type,
            occurredAt: try row.decode(column: first + 1), userID: try row.decode(column: first + 2),
            sessionID: session?.path)
    }
}
