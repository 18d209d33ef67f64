import Contracts
import Foundation
import Hummingbird
import ServiceKit

/// What happened, for operators: the audit log, and figures.
struct AdminLogRoutes: Sendable {
    let audit: AuditLog
    let figures: FigureStore

    func add(to admin: AdminRouter) {
        admin.get("/audit", use: list)
        admin.get("/figures", use: count)
    }

    @Sendable private func list(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        func action(_ field: String) throws(Problem) -> String? {
            try request.queried(field) { text throws(Refusal) in
                guard AuditEvent(rawValue: text) != nil else { throw Refusal("There is no such action.") }
                return text
            }
        }
        let search = AuditSearch(
            userID: try request.queriedID("user"), event: try action("action"), exceptEvent: try action("except"),
            since: try request.queriedTime("since"), until: try request.queriedTime("until"))
        let cursor = try request.queried("after") { text throws(Refusal) in try AuditCursor(text) }
        let limit = try request.queriedLimit()
        let found = try await audit.search(
            search, after: cursor, limit: limit + 1, deadline: context.deadline.forDatabase)
        try await audit.noteViewing(of: search.userID, "audit", context)
        let shown = found.prefix(limit)
        let next = found.count > limit ? shown.last.map { AuditCursor(at: $0.at, id: $0.id).text } : nil
        return try .json(AdminAuditList(entries: shown.map(AdminAuditEntry.init), next: next))
    }

    /// Holds nothing of a person's.
    @Sendable private func count(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        try await .json(figures.figures(deadline: context.deadline.forDatabase))
    }
}

extension AdminAuditEntry {
    fileprivate init(_ record: AuditRecord) {
        // Users are named by their ids, everybody else by a name.
        let id = record.actorID.flatMap(UUID.init(uuidString:))?.path
        self.init(
            id: String(record.id), at: record.at, action: record.event,
            user: record.userID == AuditLog.nobody ? nil : record.userID.path,
            by: Actor(kind: record.actor, id: id, name: id == nil ? record.actorID : nil),
            address: record.origin?.address, client: record.origin?.userAgent, device: record.origin?.device,
            appVersion: record.origin?.appVersion, session: record.sessionID?.path, detail: record.detail,
            count: record.count == 1 ? nil : record.count)
    }
}
