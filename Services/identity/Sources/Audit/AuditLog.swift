import Bytes
import Contracts
import Foundation
import Postgres

/// What has happened to accounts (tables `audit_entries` and `audit_origins`).
///
/// An entry is kept beyond the account, so it holds nothing of the person but the user's id. Where somebody was and with
/// which client stands beside it, and goes with the account.
struct AuditLog: Sendable {
    let database: PostgresPool

    /// Adds an entry, in the transaction of what it tells of.
    /// - Parameters:
    ///   - actorID: which user it was, where that is not the one who is signed in.
    ///   - detail: a word of ours, nothing of a person's.
    ///   - count: how often it happened.
    static func record(
        _ event: AuditEvent, _ userID: UUID, by actor: AuditActor, actorID: UUID? = nil, detail: String? = nil,
        session: UUID? = nil, count: Int = 1, on database: some PostgresQuerying,
        deadline: ContinuousClock.Instant? = nil
    ) async throws {
        let scope = AuditScope.current
        let person = actor == .user ? actorID ?? scope?.userID ?? userID : actorID ?? scope?.userID
        let name = person.map { $0.uuidString.lowercased() } ?? scope?.name
        // Nothing but the bare id is to be left of an account that is gone. An operator's whereabouts are the operator's.
        guard event != .deleted || actor == .operator, let origin = scope?.origin else {
            try await database.query(
                """
                INSERT INTO audit_entries (user_id, actor, actor_id, event, detail, session_id, count)
                VALUES (\(userID), \(actor.rawValue), \(name), \(event.rawValue), \(detail), \(session), \(count))
                """, deadline: deadline)
            return
        }
        let salt = [UInt8].random(count: 16)
        // The origin belongs to whoever acted, and to nobody else's export. Where that account is being deleted, the
        // statement waits, and there is no origin then.
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
            """, deadline: deadline)
    }

    /// The latest thousand entries about the user, the newest first, with what they say of the user's own whereabouts.
    func events(of userID: UUID, deadline: ContinuousClock.Instant) async throws -> [AccountExport.Event] {
        try await page(of: userID, before: nil, limit: 1000, deadline: deadline).map { record in
            let origin = record.originOwner == userID ? record.origin : nil
            return AccountExport.Event(
                at: record.at, actor: record.actor, event: record.event, detail: record.detail,
                sessionId: record.sessionID?.path, count: record.count == 1 ? nil : record.count,
                ipAddress: origin?.address, userAgent: origin?.userAgent, device: origin?.device,
                appVersion: origin?.appVersion)
        }
    }

    /// The user who has verified the identifier.
    func owner(of identifier: Identifier, deadline: ContinuousClock.Instant) async throws -> UUID? {
        try await database.query(
            """
            SELECT user_id FROM identifiers
            WHERE kind = \(identifier.kind.rawValue) AND value = \(identifier.value) AND verified
            """, deadline: deadline
        ).first?.decode(UUID.self)
    }
}
