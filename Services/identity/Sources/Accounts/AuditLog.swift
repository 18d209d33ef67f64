import Contracts
import Foundation
import Postgres

/// What has happened to accounts (table `audit`). It is kept beyond the account, so it holds nothing of the person but
/// the user's id.
struct AuditLog: Sendable {
    let database: PostgresPool

    /// The latest thousand entries about the user, the newest first.
    func events(of userID: UUID, deadline: ContinuousClock.Instant) async throws -> [AccountExport.Event] {
        try await database.query(
            "SELECT at, actor, event FROM audit WHERE user_id = \(userID) ORDER BY at DESC, id DESC LIMIT 1000",
            deadline: deadline
        ).decode((Date, String, String).self).map { at, actor, event in
            AccountExport.Event(at: at, actor: actor, event: event)
        }
    }

    static func record(
        _ event: AuditEvent, _ userID: UUID, by actor: AuditActor, on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query(
            "INSERT INTO audit (user_id, actor, event) VALUES (\(userID), \(actor.rawValue), \(event.rawValue))")
    }
}
