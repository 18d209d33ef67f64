import Foundation
import GatehouseServiceContracts
import IdentityCore
import Logging
import Postgres
import ServiceKitPostgres

/// Events about users, for other systems (`GET /internal/events`): the audit log's entries, without their actors and
/// origins, for as long as the log is kept.
struct EventFeedStore: Sendable {
    let sequencer: SequencedFeed
    private let view: SequencedFeed.View<Entry>

    /// An entry of the audit log; `event` is `nil` where the entry is not an event.
    fileprivate struct Entry: Sendable {
        var event: AccountEvent?
    }

    /// The cursor of a reader that wants no earlier events.
    static let latest = SequencedFeed.latest

    static let pageSize = 1000

    /// - Parameter events: all events of the audit log.
    init(database: PostgresPool, events: [AuditEvent], pageSize: Int = pageSize, logger: Logger) {
        sequencer = SequencedFeed(
            log: """
                (SELECT seq, tag, id, event, audit_entries.at, user_id, session_id, detail
                FROM audit_log JOIN audit_entries ON id = entry_id) AS entry
                """,
            function: "stamp_audit_entries", database: database, interval: .milliseconds(500),
            sequencesAtOnce: false, logger: logger)
        let published = Dictionary(uniqueKeysWithValues: events.map { ($0.rawValue, $0.published) })
        view = .init(columns: "id, event, at, user_id, session_id, detail", pageSize: pageSize) { row in
            try Entry(row, published)
        }
    }

    /// The events after `cursor`. If there are none yet, it waits until `end` for some. A page may be empty before
    /// `end`, because some entries of the audit log are not events.
    ///
    /// - Parameter cursor: the cursor of an earlier page; `nil` or empty begins with the oldest event, ``latest`` at
    ///   the end.
    func page(after cursor: String?, waitingUntil end: ContinuousClock.Instant) async throws -> AccountEventPage {
        let page = try await sequencer.page(view, after: cursor, waitingUntil: end)
        return AccountEventPage(
            events: page.entries.compactMap(\.event), cursor: page.cursor, reset: page.reset, more: page.more)
    }
}

extension EventFeedStore.Entry {
    /// - Parameter published: what other systems see of each event of the audit log. Events of a newer version are
    ///   absent.
    fileprivate init(_ row: PostgresRow, _ published: [String: AccountEventType?]) throws {
        guard let type = published[try row.decode("event")] ?? nil else { return }
        let id: Int64 = try row.decode("id")
        let session: UUID? = try row.decode("session_id")
        let detail: String? = try row.decode("detail")
        event = AccountEvent(
            id: String(id), type: type, occurredAt: try row.decode("at"), userID: try row.decode("user_id"),
            sessionID: session?.path,
            reason: type == .sessionRevoked ? detail.map { RevocationReason(rawValue: $0) } : nil,
            intoUserID: type == .userMerged ? detail : nil)
    }
}
