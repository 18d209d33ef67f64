import Bytes
import Foundation
import Postgres

/// An identifier of an account.
struct AccountIdentifier: Sendable {
    var identifier: Identifier
    var isVerified: Bool
    var origin: CredentialOrigin
}

/// Changes of identifiers of an account that is there.
extension IdentifierStore {
    /// Gives the user an identifier that is proved, in place of the one of its kind.
    /// - Parameter notices: one goes to the former identifier, if the user had proved it. Without them the change is
    ///   final, and so is every change before it.
    func set(
        _ identifier: Identifier, of userID: UUID, actor: AuditActor, notices: AccountNotices? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> IdentifierOutcome {
        struct Taken: Error {}
        do {
            return try await database.withRetriedTransaction(deadline: deadline) { transaction in
                guard try await AccountStore.lock(userID, on: transaction) else { return .noSuchUser }
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
                    identifier, for: userID, proves: true, actor: actor, on: transaction)
                // What was removed comes back with the transaction's end.
                guard isTheirs else { throw Taken() }
                if !isSame || former?.isVerified == false {
                    try await AccountStore.touch(userID, credentials: former != nil && !isSame, on: transaction)
                }
                return try await Self.outcome(of: userID, on: transaction)
            }
        } catch is Taken {
            return .taken
        }
    }

    /// Takes an identifier from a user, unless nobody could sign in to the account without it.
    /// - Parameter notices: as in ``set(_:of:actor:notices:deadline:)``.
    func remove(
        _ kind: Identifier.Kind, of userID: UUID, actor: AuditActor, notices: AccountNotices? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> IdentifierOutcome {
        struct LastOne: Error {}
        do {
            return try await database.withRetriedTransaction(deadline: deadline) { transaction in
                guard try await AccountStore.lock(userID, on: transaction) else { return .noSuchUser }
                guard let former = try await Self.current(kind, of: userID, on: transaction) else { return .missing }
                try await Self.delete(kind, of: userID, on: transaction)
                if let notices {
                    try await notices.changed(former, of: userID, on: transaction)
                } else {
                    try await IdentifierChangeStore.forget(kind, of: userID, on: transaction)
                }
                try await AccountStore.touch(userID, credentials: true, on: transaction)
                try await AuditLog.record(
                    .identifierRemoved, userID, by: actor, detail: kind.rawValue, on: transaction)
                let account = try await AccountStore.account(userID, on: transaction)
                guard let account, account.isReachable(byCodeTo: codeKinds) else { throw LastOne() }
                return .changed(account)
            }
        } catch is LastOne {
            return .lastOne
        }
    }

    /// Gives one user's identifier to another, who has none of its kind, as proved. Whoever had it may be left without a
    /// way to sign in: an operator who joins two accounts of one person wants that.
    func move(
        _ kind: Identifier.Kind, from formerID: UUID, to userID: UUID, actor: AuditActor,
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> IdentifierOutcome {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            guard try await AccountStore.lock(formerID, on: transaction),
                try await AccountStore.lockAnother(userID, on: transaction)
            else { return .noSuchUser }
            guard let former = try await Self.current(kind, of: formerID, on: transaction) else { return .missing }
            guard formerID != userID else { return try await Self.outcome(of: userID, on: transaction) }
            guard try await Self.current(kind, of: userID, on: transaction) == nil else { return .occupied }
            try await Self.delete(kind, of: formerID, on: transaction)
            for id in [formerID, userID] { try await IdentifierChangeStore.forget(kind, of: id, on: transaction) }
            try await Self.noteLoss(of: former.identifier, by: formerID, on: transaction)
            try await AccountStore.touch(formerID, credentials: true, on: transaction)
            try await AuditLog.record(.identifierLost, formerID, by: actor, detail: kind.rawValue, on: transaction)
            guard try await Self.claim(former.identifier, for: userID, proves: true, actor: actor, on: transaction)
            else { throw StoreConflict() }
            try await AccountStore.touch(userID, credentials: false, on: transaction)
            return try await Self.outcome(of: userID, on: transaction)
        }
    }

    /// The user's identifiers, one of each kind at most.
    static func all(of userID: UUID, on transaction: PostgresTransaction) async throws -> [AccountIdentifier] {
        try await transaction.query(
            "SELECT value, verified, changed_at, merged_from, merged_at FROM identifiers WHERE user_id = \(userID)"
        ).decode((String, Bool, Date?, UUID?, Date?).self).map { value, isVerified, since, account, mergedAt in
            AccountIdentifier(
                identifier: try Identifier(value), isVerified: isVerified,
                origin: CredentialOrigin(since: since, mergedFrom: account, mergedAt: mergedAt))
        }
    }

    /// The user's identifier of a kind; `nil` where there is none.
    static func current(
        _ kind: Identifier.Kind, of userID: UUID, on transaction: PostgresTransaction
    ) async throws -> AccountIdentifier? {
        try await all(of: userID, on: transaction).first { $0.identifier.kind == kind }
    }

    /// The user has it again since the time when it became theirs first: it is no new credential.
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
