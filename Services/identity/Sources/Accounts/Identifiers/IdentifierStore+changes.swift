import Bytes
import Foundation
import Postgres

/// Changes of identifiers of an account that is there.
extension IdentifierStore {
    /// Gives the user an identifier that is proved, in place of the one of its kind.
    /// - Parameter notice: goes to the former one, if the user had proved it. Without one the change is final, and so is
    ///   every change before it.
    func set(
        _ identifier: Identifier, of userID: UUID, actor: AuditActor, notice: IdentifierNotice? = nil,
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
                    if former.isVerified { try await notice?.leave(to: former.identifier, of: userID, on: transaction) }
                }
                if notice == nil {
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
    /// - Parameter notice: as in ``set(_:of:actor:notice:deadline:)``.
    func remove(
        _ kind: Identifier.Kind, of userID: UUID, actor: AuditActor, notice: IdentifierNotice? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> IdentifierOutcome {
        struct LastOne: Error {}
        do {
            return try await database.withRetriedTransaction(deadline: deadline) { transaction in
                guard try await AccountStore.lock(userID, on: transaction) else { return .noSuchUser }
                guard let former = try await Self.current(kind, of: userID, on: transaction) else { return .missing }
                try await Self.delete(kind, of: userID, on: transaction)
                if let notice {
                    if former.isVerified { try await notice.leave(to: former.identifier, of: userID, on: transaction) }
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

    /// The user's identifier of a kind; `nil` where there is none.
    static func current(
        _ kind: Identifier.Kind, of userID: UUID, on transaction: PostgresTransaction
    ) async throws -> (identifier: Identifier, isVerified: Bool)? {
        let row = try await transaction.query(
            "SELECT value, verified FROM identifiers WHERE user_id = \(userID) AND kind = \(kind.rawValue)"
        ).first?.decode((String, Bool).self)
        return try row.map { (try Identifier($0), $1) }
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
