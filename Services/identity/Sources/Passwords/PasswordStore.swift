import Foundation
import Postgres

/// A user who is about to exist.
struct NewAccount: Sendable {
    var id = UUID()
    var identifier: Identifier
    /// Whether the identifier is known to be theirs: by an operator's word, never by their own.
    var isVerified = false
    var passwordHash: String
    var displayName: DisplayName?
    var role = Role.user
    var stores = StoreList.none
    var actor = AuditActor.user
}

extension AccountStore {
    /// Makes the account whole or not at all.
    /// - Returns: `nil` when somebody else has the identifier and keeps it.
    func register(_ new: NewAccount, deadline: ContinuousClock.Instant? = nil) async throws -> Account? {
        struct Taken: Error {}
        do {
            return try await withTransaction(deadline: deadline) { transaction in
                try await transaction.query(
                    """
                    INSERT INTO users (id, display_name, role, store_ids)
                    VALUES (\(new.id), \(new.displayName?.value), \(new.role.name), \(new.stores.ids.map(\.value)))
                    """)
                guard
                    try await Self.claim(
                        new.identifier, for: new.id, proves: new.isVerified, actor: new.actor, on: transaction)
                else { throw Taken() }
                try await transaction.query(
                    "INSERT INTO passwords (user_id, hash) VALUES (\(new.id), \(new.passwordHash))")
                try await Self.audit(.registered, new.id, by: new.actor, on: transaction)
                return try await Self.account(new.id, on: transaction)
            }
        } catch is Taken {
            return nil
        }
    }

    /// Gives the identifier to the user, under the rules of ``IdentifierClaim``. Whenever somebody else was faster it
    /// looks again at who has it.
    /// - Returns: whether the user has it now.
    static func claim(
        _ identifier: Identifier, for userID: UUID, proves: Bool, actor: AuditActor, on transaction: PostgresTransaction
    ) async throws -> Bool {
        let kind = identifier.kind.rawValue
        while true {
            let holder = try await transaction.query(
                "SELECT user_id, verified FROM identifiers WHERE kind = \(kind) AND value = \(identifier.value)"
            ).first.map { row in
                let (id, verified) = try row.decode((UUID, Bool).self)
                return IdentifierClaim.Holder(userID: id, isVerified: verified)
            }
            switch IdentifierClaim.decide(holder: holder, claimant: userID, proves: proves) {
            case .free:
                let inserted = try await transaction.query(
                    """
                    INSERT INTO identifiers (kind, value, user_id, verified)
                    VALUES (\(kind), \(identifier.value), \(userID), \(proves)) ON CONFLICT (kind, value) DO NOTHING
                    """)
                if inserted.affectedRows == 1 { return true }
            case .own:
                guard proves else { return true }
                let verified = try await transaction.query(
                    """
                    UPDATE identifiers SET verified = true
                    WHERE kind = \(kind) AND value = \(identifier.value) AND user_id = \(userID)
                    """)
                if verified.affectedRows == 1 { return true }
            case .takeOver(let former):
                guard try await lock(former, on: transaction) else { continue }
                let moved = try await transaction.query(
                    """
                    UPDATE identifiers SET user_id = \(userID), verified = true
                    WHERE kind = \(kind) AND value = \(identifier.value) AND user_id = \(former) AND NOT verified
                    """)
                guard moved.affectedRows == 1 else { continue }
                try await touch(former, credentials: true, on: transaction)
                try await audit(.identifierLost, former, by: actor, on: transaction)
                return true
            case .refused:
                return false
            }
        }
    }
}
