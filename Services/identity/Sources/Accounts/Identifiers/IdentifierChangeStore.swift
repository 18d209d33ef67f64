import Contracts
import Foundation
import Postgres

enum UndoOutcome: Sendable {
    /// - Parameter revocation: the task in the outbox that ends all sessions.
    case undone(OutboxEntry)
    /// There is no such token, or it has expired or served.
    case unknown
    /// Another user has proved the identifier since. The token goes on counting.
    case taken
}

/// Changes of identifiers that can still be undone (table `identifier_changes`).
struct IdentifierChangeStore: Sendable {
    let database: PostgresPool
    let grants: AppleGrantStore

    /// Gives the former identifier back, ends all sessions, and removes what a thief may sign in with.
    func undo(_ digest: [UInt8], deadline: ContinuousClock.Instant) async throws -> UndoOutcome {
        struct Taken: Error {}
        do {
            return try await database.withRetriedTransaction(deadline: deadline) { transaction in
                let holder = try await transaction.query(
                    "SELECT user_id FROM identifier_changes WHERE digest = \(digest) AND expires_at > now()"
                ).first?.decode(UUID.self)
                guard let userID = holder, try await AccountStore.lock(userID, on: transaction) else {
                    return .unknown
                }
                let used = try await transaction.query(
                    """
                    DELETE FROM identifier_changes WHERE digest = \(digest) AND user_id = \(userID)
                    RETURNING kind, value, changed_at
                    """
                ).first?.decode((String, String, Date).self)
                guard let (_, value, changedAt) = used else { return .unknown }
                let former = try Identifier(value)
                try await IdentifierStore.delete(former.kind, of: userID, on: transaction)
                let isTheirs = try await IdentifierStore.claim(
                    former, for: userID, proves: true, actor: .user, on: transaction)
                guard isTheirs else { throw Taken() }
                try await close(changeOf: former.kind, at: changedAt, of: userID, on: transaction)
                return try await .undone(revocation(of: userID, former.kind, on: transaction))
            }
        } catch is Taken {
            return .taken
        }
    }

    /// Removes what a thief may sign in with, and what would undo the undoing.
    private func close(
        changeOf kind: Identifier.Kind, at time: Date, of userID: UUID, on transaction: PostgresTransaction
    ) async throws {
        // Older changes stay: whoever received those may be the account's owner.
        try await transaction.query(
            """
            DELETE FROM identifier_changes
            WHERE user_id = \(userID) AND kind = \(kind.rawValue) AND changed_at >= \(time)
            """)
        try await PasswordStore.remove(of: userID, on: transaction)
        let others = try await transaction.query(
            "SELECT kind, changed_at FROM identifiers WHERE user_id = \(userID) AND kind <> \(kind.rawValue)"
        ).decode((String, Date?).self)
        for (other, since) in others {
            guard let other = Identifier.Kind(rawValue: other),
                IdentifierUndo.removes(wayInSince: since, ofChangeAt: time)
            else { continue }
            try await IdentifierStore.delete(other, of: userID, on: transaction)
        }
        let linked = try await transaction.query(
            "SELECT created_at FROM apple_identities WHERE user_id = \(userID)"
        ).decode(Date.self).first
        if IdentifierUndo.removes(wayInSince: linked, ofChangeAt: time) {
            if let grant = try await grants.grant(of: userID, on: transaction) {
                try await grants.enqueueRevocation(of: grant, on: transaction)
            }
            try await AppleIdentityStore.remove(of: userID, on: transaction)
        }
    }

    private func revocation(
        of userID: UUID, _ kind: Identifier.Kind, on transaction: PostgresTransaction
    ) async throws -> OutboxEntry {
        guard let version = try await AccountStore.touch(userID, credentials: true, on: transaction) else {
            throw StoreConflict()
        }
        try await AuditLog.record(.identifierRestored, userID, by: .user, detail: kind.rawValue, on: transaction)
        return try await OutboxStore.enqueue(
            .revokeSessions(reason: .passwordChanged, except: nil, below: version), user: userID, on: transaction)
    }

    /// An operator's word is final: what was changed before can no longer be undone.
    static func forget(_ kind: Identifier.Kind, of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            "DELETE FROM identifier_changes WHERE user_id = \(userID) AND kind = \(kind.rawValue)")
    }
}
