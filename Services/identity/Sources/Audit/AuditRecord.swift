import Foundation
import Postgres

/// An entry of the audit log as somebody reads it, with where its actor was as long as that is kept.
struct AuditRecord: Sendable {
    var id: Int64
    var at: Date
    var userID: UUID
    var actor: String
    var actorID: String?
    var event: String
    var detail: String?
    var sessionID: UUID?
    var count: Int
    /// Whose whereabouts `origin` is; `nil` where it is no user's.
    var originOwner: UUID?
    var origin: AuditOrigin?

    /// Over the entries `e` and their origins `o` of a statement.
    static let columns = """
        e.id, e.at, e.user_id, e.actor, e.actor_id, e.event, e.detail, e.session_id, e.count, o.user_id,
        o.entry_id IS NOT NULL, o.address, o.user_agent, o.device, o.app_version
        """
    /// The same of the table that was before, `f`.
    static let formerColumns = """
        f.id, f.at, f.user_id, f.actor, NULL::text, f.event, NULL::text, NULL::uuid, 1, NULL::uuid,
        false, NULL::text, NULL::text, NULL::text, NULL::text
        """

    init(row: PostgresRow) throws {
        id = try row.decode(column: 0)
        at = try row.decode(column: 1)
        userID = try row.decode(column: 2)
        actor = try row.decode(column: 3)
        actorID = try row.decode(column: 4)
        event = try row.decode(column: 5)
        detail = try row.decode(column: 6)
        sessionID = try row.decode(column: 7)
        count = try row.decode(column: 8)
        originOwner = try row.decode(column: 9)
        guard try row.decode(Bool.self, column: 10) else { return }
        origin = AuditOrigin(
            address: try row.decode(column: 11), userAgent: try row.decode(column: 12),
            device: try row.decode(column: 13), appVersion: try row.decode(column: 14))
    }
}
