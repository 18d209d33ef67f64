import Foundation

/// One entry of the audit log, as it is kept for as long as the log is.
struct AuditEntry: Sendable, Equatable {
    var id: Int64
    /// In microseconds since 1970, as PostgreSQL keeps it.
    var at: Int64
    /// Whom it happened to.
    var userID: UUID
    var actor: String
    /// Which user or operator; `nil` where nobody knows.
    var actorID: String?
    var event: String
    var detail: String?
    var sessionID: UUID?
    /// How often it happened.
    var count: Int
    var originDigest: [UInt8]?

    /// What the chain of hashes covers.
    var bytes: [UInt8] {
        var fields = AuditFields()
        fields.append(id)
        fields.append(at)
        fields.append(userID.uuidString)
        for field in [actor, actorID, event, detail] { fields.append(field) }
        fields.append(sessionID?.uuidString)
        fields.append(Int64(count))
        fields.append(originDigest)
        return fields.bytes
    }
}
