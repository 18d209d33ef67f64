import Foundation

/// What an answer with tokens is made from: a session as it stands, and PostgreSQL's clock in the same statement.
struct SessionGrant: Sendable, Equatable {
    var sessionID: UUID
    var now: Date
    /// The earlier of idle and absolute expiry.
    var expiresAt: Date
    var user: UserRecord
}
