import Foundation
import Postgres

/// Who did it.
enum AuditActor: String, Sendable {
    case user, `operator`, apple, system
}

/// What happened to an account.
enum AuditEvent: String, Sendable {
    case registered
    case identifierLost = "identifier_lost"
    case passwordChanged = "password_changed"
    case passwordReset = "password_reset"
    case passwordRemoved = "password_removed"
    case appleLinked = "apple_linked"
    case appleUnlinked = "apple_unlinked"
    case appleConsentRevoked = "apple_consent_revoked"
    case roleChanged = "role_changed"
    case disabled
    case enabled
    case deleted
}

extension AccountStore {
    /// Kept beyond the account, so nothing of the person stands in it.
    static func audit(
        _ event: AuditEvent, _ userID: UUID, by actor: AuditActor, on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query(
            "INSERT INTO audit (user_id, actor, event) VALUES (\(userID), \(actor.rawValue), \(event.rawValue))")
    }
}
