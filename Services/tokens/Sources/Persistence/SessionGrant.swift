import Foundation

/// What an answer with tokens is made from: the session's expiry and last proof, its user, and PostgreSQL's clock at
/// that statement.
struct SessionGrant: Sendable, Equatable {
    var sessionID: UUID
    var now: Date
    /// The earlier of idle and absolute expiry.
    var expiresAt: Date
    var authentication: SessionAuthentication
    var user: UserRecord
}
