package import Foundation
import GatehouseBytes
package import GatehouseServiceContracts
import GatehouseServiceKit
package import Postgres

/// The history of accounts (tables `audit_entries` and `audit_origins`).
///
/// An entry outlives the account, so it contains no personal data but the user's id. The actor's address and client are
/// stored in a separate row, which is deleted with the account.
package struct AuditStore: Sendable {
    package let database: PostgresPool

    package init(database: PostgresPool) {
        self.database = database
    }

    /// Adds an entry, in the transaction of the change that it records.
    /// - Parameters:
    ///   - actorID: the acting user, where that is not the signed-in user.
    ///   - detail: a fixed word, never personal data.
    ///   - count: how often it happened.
    package static func record(
        _ event: AuditEvent, _ userID: UUID, by actor: AuditActor, actorID: UUID? = nil, detail: String? = nil,
        session: UUID? = nil, count: Int = 1, on database: some PostgresQuerying
    ) async throws {
        let scope = AuditScope.current
        let person = actor == .user ? actorID ?? scope?.userID ?? userID : actorID ?? scope?.userID
        let name = person.map { $0.uuidString.lowercased() } ?? scope?.name
        // A deleted account leaves nothing but the bare id. An operator's origin is the operator's data.
        guard event != .deleted || actor == .operator, let origin = scope?.origin else {
            try await database.query(
                """
                INSERT INTO audit_entries (user_id, actor, actor_id, event, detail, session_id, count)
                VALUES (\(userID), \(actor.rawValue), \(name), \(event.rawValue), \(detail), \(session), \(count))
                """)
            return
        }
        let salt = [UInt8].random(count: 16)
        // The origin belongs to the actor, and appears in no other user's export. Where the actor's account is being
        // deleted, the statement waits and then stores no origin.
        let owner = actor == .operator ? person : person ?? userID
        try await database.query(
            """
            WITH entry AS (
                INSERT INTO audit_entries
                    (user_id, actor, actor_id, event, detail, session_id, count, origin_digest)
                VALUES (\(userID), \(actor.rawValue), \(name), \(event.rawValue), \(detail), \(session), \(count),
                    \(origin.digest(salt: salt)))
                RETURNING id)
            INSERT INTO audit_origins (entry_id, user_id, salt, address, user_agent, device, app_version)
            SELECT id, \(owner), \(salt), \(origin.address), \(origin.userAgent), \(origin.device),
                \(origin.appVersion)
            FROM entry
            WHERE \(owner) IS NULL OR EXISTS (SELECT FROM users WHERE id = \(owner) FOR KEY SHARE)
            """)
    }

    /// The latest thousand entries about the user, newest first, with the user's own origins.
    package func events(of userID: UUID) async throws -> [AccountExport.Event] {
        try await page(of: userID, before: nil, limit: 1000).map { record in
            let origin = record.originOwner == userID ? record.origin : nil
            return AccountExport.Event(
                at: record.at, actor: record.actor, event: record.event, detail: record.detail,
                sessionId: record.sessionID?.path, count: record.count == 1 ? nil : record.count,
                ipAddress: origin?.address, userAgent: origin?.userAgent, device: origin?.device,
                appVersion: origin?.appVersion)
        }
    }

    /// The user id of an entry that concerns no particular user. No user has this id.
    package static let noUser = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    /// Days for which the id of a deleted user is remembered, so that no import uses it. tokens refuses sessions to it
    /// for 730 days, and may learn of the deletion some days late.
    static let deletionMemory = 760

    /// Records that an operator or system has read stored personal data, before the response is sent.
    ///
    /// - Parameters:
    ///   - userID: the user whose data was read; `nil` where it is that of several users.
    ///   - detail: what was read, as a fixed word.
    package func noteViewing(of userID: UUID?, _ detail: String) async throws {
        try await Self.record(.viewed, userID ?? Self.noUser, by: .operator, detail: detail, on: database)
    }
}

extension AuditStore {
    /// Entries from the newest to the oldest. Those of one user are ordered by id, others by time.
    /// - Parameter cursor: where the previous page ended; `nil` for the first page.
    package func search(_ search: AuditSearch, after cursor: AuditCursor?, limit: Int) async throws -> [AuditRecord] {
        let order: Order = search.userID == nil ? .time(after: cursor) : .id(before: cursor?.id ?? .max)
        return try await read(Self.entries(search, order, limit: limit))
    }

    /// Entries from the newest to the oldest, by their ids.
    /// - Parameters:
    ///   - userID: only entries about this user.
    ///   - before: the id of the previous page's last entry; `nil` for the first page.
    package func page(of userID: UUID?, before: Int64?, limit: Int) async throws -> [AuditRecord] {
        let query = Self.entries(AuditSearch(userID: userID), .id(before: before ?? .max), limit: limit)
        return try await read(query)
    }

    /// Each order has an index for one user or for all.
    enum Order {
        case id(before: Int64)
        case time(after: AuditCursor?)
    }

    static func entries(_ search: AuditSearch, _ order: Order, limit: Int) -> PostgresQuery {
        """
        SELECT \(unescaped: AuditRecord.columns) FROM audit_entries e LEFT JOIN audit_origins o ON o.entry_id = e.id
        \(conditions: search, order, limit: limit)
        """
    }

    private func read(_ query: PostgresQuery) async throws -> [AuditRecord] {
        try await database.query(query).map(AuditRecord.init)
    }
}

extension PostgresQuery.Interpolation {
    fileprivate mutating func appendInterpolation(
        conditions search: AuditSearch, _ order: AuditStore.Order, limit: Int
    ) {
        appendLiteral("WHERE true")
        append(" AND e.user_id = ", search.userID)
        append(" AND e.event = ", search.event)
        append(" AND e.event <> ", search.exceptEvent)
        append(" AND e.at >= ", search.since)
        append(" AND e.at < ", search.until)
        switch order {
        case .id(let before):
            append(" AND e.id < ", before)
            appendInterpolation(unescaped: " ORDER BY e.id DESC")
        case .time(let cursor):
            if let cursor {
                append(" AND (e.at, e.id) < (", cursor.at)
                append(", ", cursor.id)
                appendLiteral(")")
            }
            appendInterpolation(unescaped: " ORDER BY e.at DESC, e.id DESC")
        }
        append(" LIMIT ", limit)
    }

    private mutating func append(_ text: String, _ value: (some PostgresEncodable)?) {
        guard let value else { return }
        appendInterpolation(unescaped: text)
        appendInterpolation(value)
    }
}

/// An entry of the audit log for reading, with its actor's origin as long as that is stored.
package struct AuditRecord: Sendable {
    package var id: Int64
    package var at: Date
    package var userID: UUID
    package var actor: String
    package var actorID: String?
    package var event: String
    package var detail: String?
    package var sessionID: UUID?
    package var count: Int
    /// The user that `origin` belongs to; `nil` where it belongs to no user.
    var originOwner: UUID?
    package var origin: AuditOrigin?

    /// Columns over the entries `e` and their origins `o` of a statement.
    static let columns = """
        e.id, e.at, e.user_id, e.actor, e.actor_id, e.event, e.detail, e.session_id, e.count,
        o.user_id AS origin_owner, o.entry_id IS NOT NULL AS has_origin, o.address, o.user_agent, o.device, o.app_version
        """

    init(_ row: PostgresRow) throws {
        id = try row.decode("id")
        at = try row.decode("at")
        userID = try row.decode("user_id")
        actor = try row.decode("actor")
        actorID = try row.decode("actor_id")
        event = try row.decode("event")
        detail = try row.decode("detail")
        sessionID = try row.decode("session_id")
        count = try row.decode("count")
        originOwner = try row.decode("origin_owner")
        guard try row.decode("has_origin") else { return }
        origin = AuditOrigin(
            address: try row.decode("address"), userAgent: try row.decode("user_agent"),
            device: try row.decode("device"), appVersion: try row.decode("app_version"))
    }
}

extension AuditStore {
    /// - Parameter originDays: days for which the origins of the log's actors are kept.
    package static func expiredRows(originsAfter originDays: Int) -> [ExpiredRows] {
        [
            ExpiredRows(
                table: "deleted_users", key: "user_id",
                condition: "at < now() - make_interval(days => \(deletionMemory))"),
            ExpiredRows(table: "audit_counts", key: "at", condition: "at < now() - interval '8 days'"),
            ExpiredRows(
                table: "audit_origins", key: "entry_id",
                condition: "at < now() - make_interval(days => \(originDays))"),
        ]
    }
}
