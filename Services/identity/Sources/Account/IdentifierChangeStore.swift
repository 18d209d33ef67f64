import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import IdentityCore
import Postgres

/// The result of a change of a user's identifier.
enum IdentifierOutcome: Sendable {
    /// - Parameter account: the changed account; after a move, the account that has the identifier now.
    case changed(Account)
    /// Another user has verified the identifier, and keeps it.
    case taken
    /// Removing it would leave the account without a credential.
    case lastOne
    /// The receiving user already has another identifier of its kind.
    case occupied
    /// The user has no identifier of the kind.
    case missing
    case noSuchUser
}

enum UndoOutcome: Sendable {
    /// - Parameter revocation: the task in the outbox that ends all sessions.
    case undone(OutboxEntry)
    /// Two parties that may each be the owner have used a token. The account is disabled until an operator decides.
    case locked
    /// The token does not exist, has expired or was used.
    case unknown
    /// Another user has verified the identifier since. The token stays valid.
    case taken
}

/// Changes of the identifiers of existing accounts, and those that can still be undone (table `identifier_changes`).
struct IdentifierChangeStore: Sendable {
    let database: PostgresPool
    let registry: CredentialRegistry

    /// Restores the former identifier, ends all sessions, and removes credentials that an attacker may have.
    func undo(_ digest: [UInt8]) async throws -> UndoOutcome {
        struct Taken: Error {}
        do {
            return try await database.withRetriedTransaction { transaction in
                let holder = try await transaction.query(
                    "SELECT user_id FROM identifier_changes WHERE digest = \(digest) AND expires_at > now()"
                ).first?.decode(UUID.self)
                guard let holder, let user = try await AccountStore.lock(holder, on: transaction) else {
                    return .unknown
                }
                let tokens = try await Self.tokens(of: user.id, on: transaction)
                guard let used = tokens.first(where: { $0.digest == digest }) else { return .unknown }
                if used.isContested {
                    try await transaction.query("DELETE FROM identifier_changes WHERE user_id = \(user.id)")
                    try await AccountStore.setState(
                        .disabled, of: user, actor: .system, detail: "contested", on: transaction)
                    return .locked
                }
                let change = used.change
                try await IdentifierStore.delete(change.former.kind, of: user.id, on: transaction)
                let isTheirs = try await IdentifierStore.claim(
                    change.former, for: user.id, isVerified: true, actor: .user, on: transaction)
                guard isTheirs else { throw Taken() }
                try await IdentifierStore.restore(change.origin, of: change.former, on: transaction)
                try await settle(tokens, after: used, on: transaction)
                try await removeCredentials(of: user.id, undoing: change, on: transaction)
                if IdentifierUndo.removesRights(undoing: change) {
                    try await AccountStore.removeRights(of: user, on: transaction)
                }
                return try await .undone(revocation(of: user, change.former.kind, on: transaction))
            }
        } catch is Taken {
            return .taken
        }
    }

    /// Stores the token that undoes the change of an identifier.
    /// - Parameter former: the identifier that was changed, removed or merged.
    static func add(
        _ token: SingleUseToken, undoing former: AccountIdentifier, of userID: UUID, isMerge: Bool,
        on transaction: PostgresTransaction
    ) async throws {
        try await transaction.query(
            """
            INSERT INTO identifier_changes (
                digest, user_id, kind, value, since, merged_from, merged_at, is_merge, expires_at)
            VALUES (
                \(token.digest), \(userID), \(former.identifier.kind.rawValue), \(former.identifier.value),
                \(former.origin.since), \(former.origin.mergedFrom), \(former.origin.mergedAt), \(isMerge),
                \(Date.now.addingTimeInterval(token.lifetime)))
            """)
    }

    private struct Token {
        var digest: [UInt8]
        var change: IdentifierUndo.Change
        var isContested: Bool

        init(_ row: PostgresRow) throws {
            digest = try row.decode("digest")
            change = IdentifierUndo.Change(
                former: try Identifier(row.decode("value")),
                origin: CredentialOrigin(
                    since: try row.decode("since"), mergedFrom: try row.decode("merged_from"),
                    mergedAt: try row.decode("merged_at")),
                at: try row.decode("changed_at"), accountCreatedAt: try row.decode("created_at"))
            isContested = try row.decode("is_contested")
        }
    }

    private static func tokens(of userID: UUID, on transaction: PostgresTransaction) async throws -> [Token] {
        try await transaction.query(
            """
            SELECT digest, value, changed_at, since, merged_from, merged_at, is_contested, created_at
            FROM identifier_changes JOIN users ON users.id = user_id
            WHERE user_id = \(userID) AND expires_at > now()
            """
        ).map(Token.init)
    }

    /// Older tokens stay valid, because the account's owner may have them.
    private func settle(_ tokens: [Token], after used: Token, on transaction: PostgresTransaction) async throws {
        for token in tokens {
            switch token.digest == used.digest ? .ends : IdentifierUndo.fate(of: token.change, undoing: used.change) {
            case .stays: continue
            case .ends:
                try await transaction.query("DELETE FROM identifier_changes WHERE digest = \(token.digest)")
            case .isContested:
                try await transaction.query(
                    "UPDATE identifier_changes SET is_contested = true WHERE digest = \(token.digest)")
            }
        }
    }

    private func removeCredentials(
        of userID: UUID, undoing change: IdentifierUndo.Change, on transaction: PostgresTransaction
    ) async throws {
        try await registry.remove(undoing: change, of: userID, on: transaction)
        try await KnownDeviceStore.forget(devicesOf: userID, on: transaction)
        for other in try await IdentifierStore.all(of: userID, on: transaction)
        where other.identifier.kind != change.former.kind && IdentifierUndo.removes(other.origin, undoing: change) {
            try await IdentifierStore.delete(other.identifier.kind, of: userID, on: transaction)
        }
    }

    private func revocation(
        of user: LockedUser, _ kind: Identifier.Kind, on transaction: PostgresTransaction
    ) async throws -> OutboxEntry {
        guard let version = try await AccountStore.touch(user, credentials: true, on: transaction) else {
            throw StoreConflict()
        }
        try await AuditStore.record(.identifierRestored, user.id, by: .user, detail: kind.rawValue, on: transaction)
        return try await OutboxStore.enqueue(
            .revokeSessions(reason: .passwordChanged, except: nil, below: version), user: user.id, on: transaction)
    }

    /// An operator's change is final. Earlier changes can no longer be undone.
    static func forget(_ kind: Identifier.Kind, of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            "DELETE FROM identifier_changes WHERE user_id = \(userID) AND kind = \(kind.rawValue)")
    }
}

/// Changes of the identifiers of existing accounts.
extension IdentifierChangeStore {
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
                let former = try await IdentifierStore.current(identifier.kind, of: userID, on: transaction)
                let isSame = former?.identifier.value.isVerbatim(identifier.value) == true
                if let former, !isSame {
                    try await IdentifierStore.delete(identifier.kind, of: userID, on: transaction)
                    try await notices?.changed(former, of: userID, on: transaction)
                }
                if notices == nil {
                    try await Self.forget(identifier.kind, of: userID, on: transaction)
                }
                let isTheirs = try await IdentifierStore.claim(
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
                guard let former = try await IdentifierStore.current(kind, of: userID, on: transaction) else {
                    return .missing
                }
                try await IdentifierStore.delete(kind, of: userID, on: transaction)
                if let notices {
                    try await notices.changed(former, of: userID, on: transaction)
                } else {
                    try await Self.forget(kind, of: userID, on: transaction)
                }
                try await AccountStore.touch(user, credentials: true, on: transaction)
                try await AuditStore.record(
                    .identifierRemoved, userID, by: actor, detail: kind.rawValue, on: transaction)
                let account = try await AccountStore.account(userID, on: transaction)
                guard let account, registry.reachability.opens(account) else { throw LastOne() }
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
            guard let former = try await IdentifierStore.current(kind, of: formerID, on: transaction) else {
                return .missing
            }
            guard formerID != userID else { return try await Self.outcome(of: userID, on: transaction) }
            guard try await IdentifierStore.current(kind, of: userID, on: transaction) == nil else { return .occupied }
            try await IdentifierStore.delete(kind, of: formerID, on: transaction)
            for id in [formerID, userID] { try await Self.forget(kind, of: id, on: transaction) }
            try await IdentifierStore.noteLoss(of: former.identifier, by: formerID, on: transaction)
            try await AccountStore.touch(formerUser, credentials: true, on: transaction)
            try await AuditStore.record(.identifierLost, formerID, by: actor, detail: kind.rawValue, on: transaction)
            guard
                try await IdentifierStore.claim(
                    former.identifier, for: userID, isVerified: true, actor: actor, on: transaction)
            else { throw StoreConflict() }
            try await AccountStore.touch(user, credentials: false, on: transaction)
            return try await Self.outcome(of: userID, on: transaction)
        }
    }

    private static func outcome(of userID: UUID, on transaction: PostgresTransaction) async throws -> IdentifierOutcome
    {
        try await AccountStore.account(userID, on: transaction).map(IdentifierOutcome.changed) ?? .noSuchUser
    }
}

extension IdentifierChangeStore {
    static let expiredRows = [ExpiredRows(table: "identifier_changes", key: "digest", condition: "expires_at < now()")]
}

extension SingleUseToken.Purpose {
    /// Undoing a change of an identifier.
    static let identifierUndo = Self(prefix: "ghiu_", lifetime: 3 * 86_400)
}
