package import Foundation
package import GatehouseServiceContracts
import Postgres

extension OutboxTask {
    /// tokens receives the user's current snapshot.
    static let snapshot = OutboxTask(SnapshotTask(), for: .tokens)

    /// tokens revokes the user's sessions, except one, and except those whose sign-in was verified against credentials
    /// of the version `below` or a newer one.
    package static func revokeSessions(reason: RevocationReason, except: UUID?, below: Int64) -> OutboxTask {
        OutboxTask(SessionsRevocationTask(reason: reason, except: except, below: below), for: .tokens)
    }

    /// tokens revokes one session of the user, on behalf of an operator.
    static func endSession(session: UUID) -> OutboxTask {
        OutboxTask(SessionEndTask(session: session), for: .tokens)
    }
}

struct SnapshotTask: OutboxPayload {
    static let kind = "snapshot"
    static let key = "snapshot"
}

struct SessionsRevocationTask: OutboxPayload {
    static let kind = "revoke_sessions"
    static let key = "revokeSessions"

    var reason: RevocationReason
    var except: UUID?
    var below: Int64
}

struct SessionEndTask: OutboxPayload {
    static let kind = "end_session"
    static let key = "endSession"

    var session: UUID
}

extension OutboxStore {
    /// Enqueues the user's snapshot for tokens. Only the latest state is sent, so one entry is enough for any number of
    /// changes.
    static func enqueueSnapshot(of userID: UUID, on database: some PostgresQuerying) async throws {
        let task = OutboxTask.snapshot
        try await database.query(
            """
            INSERT INTO outbox (id, kind, destination, user_id, task)
            VALUES (\(UUID()), \(task.kind), \(task.destination.name), \(userID), \(try task.json())::jsonb)
            ON CONFLICT (user_id) WHERE kind = 'snapshot'
            DO UPDATE SET revision = outbox.revision + 1, attempts = 0, next_attempt_at = now()
            """)
    }
}

extension AuditEvent {
    package static let registered = Self("registered", published: .userCreated)
    static let profileChanged = Self("profile_changed", published: .userUpdated)
    static let roleChanged = Self("role_changed", published: .userUpdated)
    static let disabled = Self("disabled", published: .userDisabled)
    static let enabled = Self("enabled", published: .userEnabled)
    /// An operator has ended one session, or all of them.
    static let sessionEnded = Self("session_ended")
    static let sessionsEnded = Self("sessions_ended")

    package static let ofUsers = [
        registered, profileChanged, roleChanged, disabled, enabled, sessionEnded, sessionsEnded,
    ]
}
