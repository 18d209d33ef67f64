import Bytes
import Foundation
import Postgres

/// E-mail addresses and phone numbers, and the users they belong to (tables `identifiers` and `lost_identifiers`).
struct IdentifierStore: Sendable {
    let database: PostgresPool
    /// Kinds of identifiers to which sign-in codes are sent.
    var codeKinds: Set<Identifier.Kind> = []

    /// - Returns: `nil` when the user has no phone number.
    func isPhoneVerified(of userID: UUID) async throws -> Bool? {
        try await database.query(
            "SELECT verified FROM identifiers WHERE user_id = \(userID) AND kind = 'phone'"
        ).decode(Bool.self).first
    }

    /// The user who has the identifier, verified or not.
    func holder(of identifier: Identifier) async throws -> UUID? {
        try await Self.holder(of: identifier, on: database)?.userID
    }

    static func email(of userID: UUID, on transaction: PostgresTransaction) async throws -> String? {
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
    static func claim(
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
    func former(owners userID: UUID) async throws -> [UUID] {
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

/// An identifier of an account.
struct AccountIdentifier: Sendable {
    var identifier: Identifier
    var isVerified: Bool
    var origin: CredentialOrigin
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

/// Changes of the identifiers of existing accounts.
extension IdentifierStore {
    /// Gives the user a verified identifier, in place of the one of its kind.
    /// - Parameter notices: sends a notice to the former identifier, if the user had verified it. With `nil` the change
    ///   is final, and so is every earlier change.
    func set(
        _ identifier: Identifier, of userID: UUID, actor: AuditActor, notices: AccountNotices? = nil
    ) async throws -> IdentifierOutcome {
        struct Taken: Error {}
        do {
            return try await database.withRetriedTransaction { transaction in
                guard let user = try await AccountStore.lock(userID, on: transaction) else { return .noSuchUser }
                let former = try await Self.current(identifier.kind, of: userID, on: transaction)
                let isSame = former?.identifier.value.isVerbatim(identifier.value) == true
                if let former, !isSame {
                    try await Self.delete(identifier.kind, of: userID, on: transaction)
                    try await notices?.changed(former, of: userID, on: transaction)
                }
                if notices == nil {
                    try await IdentifierChangeStore.forget(identifier.kind, of: userID, on: transaction)
                }
                let isTheirs = try await Self.claim(
                    identifier, for: userID, isVerified: true, actor: actor, on: transaction)
                // The rollback restores the removed identifier.
                guard isTheirs else { throw Taken() }
                if !isSame || former?.isVerified == false {
                    try await AccountStore.touch(user, credentials: former != nil && !isSame, on: transaction)
                }
                return try await Self.outcome(of: userID, on: transaction)
            }
        } catch is Taken {
            return .taken
        }
    }

    /// Removes an identifier from a user, unless the account would have no credential left.
    /// - Parameter notices: as in ``set(_:of:actor:notices:)``.
    func remove(
        _ kind: Identifier.Kind, of userID: UUID, actor: AuditActor, notices: AccountNotices? = nil
    ) async throws -> IdentifierOutcome {
        struct LastOne: Error {}
        do {
            return try await database.withRetriedTransaction { transaction in
                guard let user = try await AccountStore.lock(userID, on: transaction) else { return .noSuchUser }
                guard let former = try await Self.current(kind, of: userID, on: transaction) else { return .missing }
                try await Self.delete(kind, of: userID, on: transaction)
                if let notices {
                    try await notices.changed(former, of: userID, on: transaction)
                } else {
                    try await IdentifierChangeStore.forget(kind, of: userID, on: transaction)
                }
                try await AccountStore.touch(user, credentials: true, on: transaction)
                try await AuditStore.record(
                    .identifierRemoved, userID, by: actor, detail: kind.rawValue, on: transaction)
                let account = try await AccountStore.account(userID, on: transaction)
                guard let account, account.isReachable(byCodeTo: codeKinds) else { throw LastOne() }
                return .changed(account)
            }
        } catch is LastOne {
            return .lastOne
        }
    }

    /// Moves one user's identifier to another user, who has none of its kind, as verified. The former user may be left
    /// without a credential: an operator who joins two accounts of one person intends that.
    func move(
        _ kind: Identifier.Kind, from formerID: UUID, to userID: UUID, actor: AuditActor
    ) async throws -> IdentifierOutcome {
        try await database.withRetriedTransaction { transaction in
            guard let formerUser = try await AccountStore.lock(formerID, on: transaction),
                let user = try await AccountStore.lockAnother(userID, on: transaction)
            else { return .noSuchUser }
            guard let former = try await Self.current(kind, of: formerID, on: transaction) else { return .missing }
            guard formerID != userID else { return try await Self.outcome(of: userID, on: transaction) }
            guard try await Self.current(kind, of: userID, on: transaction) == nil else { return .occupied }
            try await Self.delete(kind, of: formerID, on: transaction)
            for id in [formerID, userID] { try await IdentifierChangeStore.forget(kind, of: id, on: transaction) }
            try await Self.noteLoss(of: former.identifier, by: formerID, on: transaction)
            try await AccountStore.touch(formerUser, credentials: true, on: transaction)
            try await AuditStore.record(.identifierLost, formerID, by: actor, detail: kind.rawValue, on: transaction)
            guard try await Self.claim(former.identifier, for: userID, isVerified: true, actor: actor, on: transaction)
            else { throw StoreConflict() }
            try await AccountStore.touch(user, credentials: false, on: transaction)
            return try await Self.outcome(of: userID, on: transaction)
        }
    }

    /// The user's identifiers, at most one of each kind.
    static func all(of userID: UUID, on transaction: PostgresTransaction) async throws -> [AccountIdentifier] {
        try await transaction.query(
            "SELECT value, verified, changed_at, merged_from, merged_at FROM identifiers WHERE user_id = \(userID)"
        ).map(AccountIdentifier.init)
    }

    /// The user's identifier of a kind; `nil` where there is none.
    static func current(
        _ kind: Identifier.Kind, of userID: UUID, on transaction: PostgresTransaction
    ) async throws -> AccountIdentifier? {
        try await all(of: userID, on: transaction).first { $0.identifier.kind == kind }
    }

    /// Keeps the time when the identifier first became the user's: it is not a new credential.
    static func restore(
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
    static func putBack(
        _ former: AccountIdentifier, of userID: UUID, on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query(
            """
            INSERT INTO identifiers (kind, value, user_id, verified, changed_at, merged_from, merged_at)
            VALUES (\(former.identifier.kind.rawValue), \(former.identifier.value), \(userID), \(former.isVerified),
                    \(former.origin.since), \(former.origin.mergedFrom), \(former.origin.mergedAt))
            """)
    }

    static func delete(
        _ kind: Identifier.Kind, of userID: UUID, on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query(
            "DELETE FROM identifiers WHERE user_id = \(userID) AND kind = \(kind.rawValue)")
    }

    private static func outcome(of userID: UUID, on transaction: PostgresTransaction) async throws -> IdentifierOutcome
    {
        try await AccountStore.account(userID, on: transaction).map(IdentifierOutcome.changed) ?? .noSuchUser
    }
}
