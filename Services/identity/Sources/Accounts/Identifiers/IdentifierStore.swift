import Foundation
import Postgres

/// E-mail addresses and phone numbers, and whose they are (tables `identifiers` and `lost_identifiers`).
struct IdentifierStore: Sendable {
    let database: PostgresPool
    /// Kinds of identifiers to which codes for signing in are sent.
    var codeKinds: Set<Identifier.Kind> = []

    /// - Returns: `nil` when the user has no phone number.
    func isPhoneVerified(of userID: UUID, deadline: ContinuousClock.Instant) async throws -> Bool? {
        try await database.query(
            "SELECT verified FROM identifiers WHERE user_id = \(userID) AND kind = 'phone'", deadline: deadline
        ).decode(Bool.self).first
    }

    static func email(of userID: UUID, on transaction: PostgresTransaction) async throws -> String? {
        try await transaction.query(
            "SELECT value FROM identifiers WHERE user_id = \(userID) AND kind = 'email'"
        ).first?.decode(String.self)
    }

    static func removeEmail(of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query("DELETE FROM identifiers WHERE user_id = \(userID) AND kind = 'email'")
    }

    /// Gives the identifier to the user, under the rules of ``IdentifierClaim``. What the user has of the same kind has
    /// to be removed before. When another transaction has changed
    /// the identifier's row in between, it decides again.
    /// - Parameters:
    ///   - proves: whether the claimant has proved the identifier.
    ///   - isNewUser: whether the claimant is made in the same transaction, so that nothing changes for anybody.
    /// - Returns: whether the user has it now.
    static func claim(
        _ identifier: Identifier, for userID: UUID, proves: Bool, actor: AuditActor, isNewUser: Bool = false,
        on transaction: PostgresTransaction
    ) async throws -> Bool {
        let kind = identifier.kind.rawValue
        while true {
            let holder = try await holder(of: identifier, on: transaction)
            switch IdentifierClaim.decide(holder: holder, claimant: userID, proves: proves) {
            case .free:
                let inserted = try await transaction.query(
                    """
                    INSERT INTO identifiers (kind, value, user_id, verified)
                    VALUES (\(kind), \(identifier.value), \(userID), \(proves)) ON CONFLICT (kind, value) DO NOTHING
                    """)
                guard inserted.affectedRows == 1 else { continue }
                try await forgetLoss(of: kind, by: userID, on: transaction)
                if !isNewUser {
                    try await AuditLog.record(.identifierChanged, userID, by: actor, detail: kind, on: transaction)
                }
                return true
            case .own:
                guard proves, holder?.isVerified == false else { return true }
                let verified = try await transaction.query(
                    """
                    UPDATE identifiers SET verified = true
                    WHERE kind = \(kind) AND value = \(identifier.value) AND user_id = \(userID)
                    """)
                guard verified.affectedRows == 1 else { continue }
                try await AuditLog.record(.identifierChanged, userID, by: actor, detail: kind, on: transaction)
                return true
            case .takeOver(let former):
                guard try await AccountStore.lockAnother(former, on: transaction) else { continue }
                let moved = try await transaction.query(
                    """
                    UPDATE identifiers SET
                        user_id = \(userID), verified = true, changed_at = now(), merged_from = NULL, merged_at = NULL
                    WHERE kind = \(kind) AND value = \(identifier.value) AND user_id = \(former) AND NOT verified
                    """)
                guard moved.affectedRows == 1 else { continue }
                try await noteLoss(of: identifier, by: former, on: transaction)
                try await forgetLoss(of: kind, by: userID, on: transaction)
                try await AccountStore.touch(former, credentials: true, on: transaction)
                try await AuditLog.record(
                    .identifierLost, former, by: actor, actorID: userID, detail: kind, on: transaction)
                if !isNewUser {
                    try await AuditLog.record(.identifierChanged, userID, by: actor, detail: kind, on: transaction)
                }
                return true
            case .refused:
                return false
            }
        }
    }

    /// The user's identifier of a kind, if it is proved.
    func proved(
        _ kind: Identifier.Kind, of userID: UUID, deadline: ContinuousClock.Instant
    ) async throws -> Identifier? {
        try await database.query(
            "SELECT value FROM identifiers WHERE user_id = \(userID) AND kind = \(kind.rawValue) AND verified",
            deadline: deadline
        ).decode(String.self).first.map { try Identifier($0) }
    }

    /// Who had the user's proved identifiers before without having proved them; the last ones first, three at most.
    func former(owners userID: UUID, deadline: ContinuousClock.Instant) async throws -> [UUID] {
        try await database.query(
            """
            SELECT l.user_id FROM identifiers i
            JOIN lost_identifiers l ON l.kind = i.kind AND l.value = i.value AND l.user_id <> i.user_id
            WHERE i.user_id = \(userID) AND i.verified
            ORDER BY l.lost_at DESC LIMIT 3
            """, deadline: deadline
        ).decode(UUID.self)
    }

    /// Notes that the account has lost the identifier to somebody who proved it, and has its user told at the other one,
    /// if that is proved: at one that is not a stranger may read.
    static func noteLoss(of identifier: Identifier, by userID: UUID, on transaction: PostgresTransaction) async throws {
        let other: Identifier.Kind = identifier.kind == .email ? .phone : .email
        if try await current(other, of: userID, on: transaction)?.isVerified == true {
            try await OutboxStore.enqueue(
                .identifierLost(channel: other, language: RequestLanguage.current), user: userID, dueAtOnce: true,
                on: transaction)
        }
        try await transaction.query(
            """
            INSERT INTO lost_identifiers (user_id, kind, value)
            VALUES (\(userID), \(identifier.kind.rawValue), \(identifier.value))
            ON CONFLICT (user_id, kind) DO UPDATE SET value = EXCLUDED.value, lost_at = now()
            """)
    }

    /// The user has an identifier of the kind again.
    private static func forgetLoss(
        of kind: String, by userID: UUID, on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query("DELETE FROM lost_identifiers WHERE user_id = \(userID) AND kind = \(kind)")
    }

    private static func holder(
        of identifier: Identifier, on transaction: PostgresTransaction
    ) async throws -> IdentifierClaim.Holder? {
        try await transaction.query(
            """
            SELECT user_id, verified FROM identifiers
            WHERE kind = \(identifier.kind.rawValue) AND value = \(identifier.value)
            """
        ).first.map { row in
            let (id, verified) = try row.decode((UUID, Bool).self)
            return IdentifierClaim.Holder(userID: id, isVerified: verified)
        }
    }
}
