package import Foundation
import GatehouseBytes
package import Postgres

/// E-mail addresses and phone numbers, and the users they belong to (tables `identifiers` and `lost_identifiers`).
package struct IdentifierStore: Sendable {
    let database: PostgresPool

    /// The user who has the identifier, verified or not.
    package func holder(of identifier: Identifier) async throws -> UUID? {
        try await Self.holder(of: identifier, on: database)?.userID
    }

    package static func email(of userID: UUID, on transaction: PostgresTransaction) async throws -> String? {
        try await transaction.query(
            "SELECT value FROM identifiers WHERE user_id = \(userID) AND kind = 'email'"
        ).first?.decode(String.self)
    }

    /// Gives the identifier to the user, under the rules of ``IdentifierClaim``. The user's previous identifier of the
    /// same kind has to be removed before. When another transaction has changed the identifier's row in between, it
    /// decides again.
    /// - Parameters:
    ///   - isVerified: whether the claimant has verified the identifier.
    ///   - isNewUser: whether the claimant is created in the same transaction, which is no change of an account.
    /// - Returns: whether the user has it now.
    package static func claim(
        _ identifier: Identifier, for userID: UUID, isVerified: Bool, actor: AuditActor, isNewUser: Bool = false,
        on transaction: PostgresTransaction
    ) async throws -> Bool {
        let kind = identifier.kind.rawValue
        while true {
            let holder = try await holder(of: identifier, on: transaction)
            switch IdentifierClaim.decide(holder: holder, claimant: userID, isVerified: isVerified) {
            case .free:
                let inserted = try await transaction.query(
                    """
                    INSERT INTO identifiers (kind, value, user_id, verified)
                    VALUES (\(kind), \(identifier.value), \(userID), \(isVerified)) ON CONFLICT (kind, value) DO NOTHING
                    """)
                guard inserted.affectedRows == 1 else { continue }
                try await forgetLoss(of: kind, by: userID, on: transaction)
                if !isNewUser {
                    try await AuditStore.record(.identifierChanged, userID, by: actor, detail: kind, on: transaction)
                }
                return true
            case .own:
                guard isVerified, holder?.isVerified == false else { return true }
                let verified = try await transaction.query(
                    """
                    UPDATE identifiers SET verified = true
                    WHERE kind = \(kind) AND value = \(identifier.value) AND user_id = \(userID)
                    """)
                guard verified.affectedRows == 1 else { continue }
                try await AuditStore.record(.identifierChanged, userID, by: actor, detail: kind, on: transaction)
                return true
            case .takeOver(let former):
                guard let formerUser = try await AccountStore.lockAnother(former, on: transaction) else { continue }
                let moved = try await transaction.query(
                    """
                    UPDATE identifiers SET
                        user_id = \(userID), verified = true, changed_at = now(), merged_from = NULL, merged_at = NULL
                    WHERE kind = \(kind) AND value = \(identifier.value) AND user_id = \(former) AND NOT verified
                    """)
                guard moved.affectedRows == 1 else { continue }
                try await noteLoss(of: identifier, by: former, on: transaction)
                try await forgetLoss(of: kind, by: userID, on: transaction)
                try await AccountStore.touch(formerUser, credentials: true, on: transaction)
                try await AuditStore.record(
                    .identifierLost, former, by: actor, actorID: userID, detail: kind, on: transaction)
                if !isNewUser {
                    try await AuditStore.record(.identifierChanged, userID, by: actor, detail: kind, on: transaction)
                }
                return true
            case .refused:
                return false
            }
        }
    }

    /// Adds identifiers that no user has.
    /// - Throws: a unique violation where one has an owner.
    package static func insert(_ new: [NewIdentifier], on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            """
            INSERT INTO identifiers (kind, value, user_id, verified)
            SELECT kind, value, user_id, verified
            FROM unnest(
                \(new.map(\.kind.rawValue)), \(new.map(\.value)), \(new.map(\.userID)), \(new.map(\.isVerified))
            ) AS new (kind, value, user_id, verified)
            """)
    }

    /// The user's identifier of a kind, if it is verified.
    func verified(_ kind: Identifier.Kind, of userID: UUID) async throws -> Identifier? {
        try await database.query(
            "SELECT value FROM identifiers WHERE user_id = \(userID) AND kind = \(kind.rawValue) AND verified"
        ).decode(String.self).first.map { try Identifier($0) }
    }

    /// Whether another user has verified the identifier.
    static func isVerified(
        _ identifier: Identifier, byOtherThan userID: UUID, on database: some PostgresQuerying
    ) async throws -> Bool {
        try await !database.query(
            """
            SELECT user_id FROM identifiers
            WHERE kind = \(identifier.kind.rawValue) AND value = \(identifier.value) AND verified
                AND user_id <> \(userID)
            """
        ).isEmpty
    }

    /// Former owners of the user's verified identifiers, who had not verified them; the latest first, three at most.
    package func former(owners userID: UUID) async throws -> [UUID] {
        try await database.query(
            """
            SELECT l.user_id FROM identifiers i
            JOIN lost_identifiers l ON l.kind = i.kind AND l.value = i.value AND l.user_id <> i.user_id
            WHERE i.user_id = \(userID) AND i.verified
            ORDER BY l.lost_at DESC LIMIT 3
            """
        ).decode(UUID.self)
    }

    /// Records that the account has lost the identifier to a user who verified it. The account's user is notified at
    /// the other identifier, if that one is verified; an unverified one may belong to another person.
    package static func noteLoss(of identifier: Identifier, by userID: UUID, on transaction: PostgresTransaction)
        async throws
    {
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
        of identifier: Identifier, on database: some PostgresQuerying
    ) async throws -> IdentifierClaim.Holder? {
        try await database.query(
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

/// An identifier to be added with its user.
package struct NewIdentifier: Sendable {
    var kind: Identifier.Kind
    var value: String
    var userID: UUID
    var isVerified: Bool

    package init(kind: Identifier.Kind, value: String, userID: UUID, isVerified: Bool) {
        self.kind = kind
        self.value = value
        self.userID = userID
        self.isVerified = isVerified
    }
}

/// An identifier of an account.
package struct AccountIdentifier: Sendable {
    package var identifier: Identifier
    package var isVerified: Bool
    package var origin: CredentialOrigin
}

extension AccountIdentifier {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            identifier: try Identifier(row.decode("value")), isVerified: try row.decode("verified"),
            origin: CredentialOrigin(
                since: try row.decode("changed_at"), mergedFrom: try row.decode("merged_from"),
                mergedAt: try row.decode("merged_at")))
    }
}

extension IdentifierStore {
    /// The user's identifiers, at most one of each kind.
    package static func all(of userID: UUID, on transaction: PostgresTransaction) async throws -> [AccountIdentifier] {
        try await transaction.query(
            "SELECT value, verified, changed_at, merged_from, merged_at FROM identifiers WHERE user_id = \(userID)"
        ).map(AccountIdentifier.init)
    }

    /// The user's identifier of a kind; `nil` where there is none.
    package static func current(
        _ kind: Identifier.Kind, of userID: UUID, on transaction: PostgresTransaction
    ) async throws -> AccountIdentifier? {
        try await all(of: userID, on: transaction).first { $0.identifier.kind == kind }
    }

    /// Keeps the time when the identifier first became the user's: it is not a new credential.
    package static func restore(
        _ origin: CredentialOrigin, of identifier: Identifier, on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query(
            """
            UPDATE identifiers SET
                changed_at = \(origin.since), merged_from = \(origin.mergedFrom), merged_at = \(origin.mergedAt)
            WHERE kind = \(identifier.kind.rawValue) AND value = \(identifier.value)
            """)
    }

    /// Inserts an identifier that was deleted in the same transaction, with its age and origin.
    package static func putBack(
        _ former: AccountIdentifier, of userID: UUID, on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query(
            """
            INSERT INTO identifiers (kind, value, user_id, verified, changed_at, merged_from, merged_at)
            VALUES (\(former.identifier.kind.rawValue), \(former.identifier.value), \(userID), \(former.isVerified),
                    \(former.origin.since), \(former.origin.mergedFrom), \(former.origin.mergedAt))
            """)
    }

    package static func delete(
        _ kind: Identifier.Kind, of userID: UUID, on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query(
            "DELETE FROM identifiers WHERE user_id = \(userID) AND kind = \(kind.rawValue)")
    }
}
