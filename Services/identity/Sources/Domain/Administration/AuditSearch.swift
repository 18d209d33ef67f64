import Foundation

/// Which entries of the audit log an operator looks for. Without anything: all of them.
struct AuditSearch: Sendable, Equatable {
    var userID: UUID?
    var event: String?
    /// An event that is left out.
    var exceptEvent: String?
    var since: Date?
    var until: Date?
}

/// Where a page of the audit log ended.
struct AuditCursor: Sendable, Equatable {
    var at: Date
    var id: Int64

    /// As it is handed out, and handed back.
    var text: String { "\(at.microseconds).\(id)" }

    init(at: Date, id: Int64) {
        self.at = at
        self.id = id
    }

    init(_ text: String) throws(Refusal) {
        guard text.utf8.count <= 64, let (at, rest) = Date.microseconds(leading: text), let id = Int64(rest) else {
            throw Refusal("This is not the next of such a list.")
        }
        self.init(at: at, id: id)
    }
}
