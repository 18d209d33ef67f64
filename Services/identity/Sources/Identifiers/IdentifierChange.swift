import Contracts
import Foundation
import Postgres
import ServiceKit

/// Changes the user's own address or number (`PUT` and `DELETE /v1/auth/identifiers/{kind}`).
struct IdentifierChange: Sendable {
    let identifiers: IdentifierStore
    let proofs: CodeProofs
    let notices: AccountNotices
    let age: AuthenticationAge
    let worker: OutboxWorker
    let home: PhoneRegion?

    /// - Throws: `REAUTHENTICATION_REQUIRED`; `INVALID_CREDENTIALS` for a wrong code; `IDENTIFIER_TAKEN` where another
    ///   user has verified the identifier.
    func set(
        _ kind: Identifier.Kind, to request: ChangeIdentifierRequest, of user: ForwardedUser,
        context: GatehouseRequestContext
    ) async throws -> User {
        try age.require(user)
        let home = home
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, of: kind, home: home)
        }
        let shown = VerifyCodeRequest(
            identifier: request.identifier, code: request.code, codeRequest: request.codeRequest,
            linkToken: request.linkToken)
        return try await proofs.verify(shown, context: context) { _ in
            [.verify]
        } then: { proved, _ in
            guard proved == identifier else { throw CodeProofs.wrong }
            return try await finish(identifiers.set(identifier, of: user.id, actor: .user, notices: notices))
        }
    }

    /// - Throws: `REAUTHENTICATION_REQUIRED`; `FORBIDDEN` where it is the account's last credential; `NOT_FOUND`.
    func remove(_ kind: Identifier.Kind, of user: ForwardedUser) async throws -> User {
        try age.require(user)
        return try await finish(identifiers.remove(kind, of: user.id, actor: .user, notices: notices))
    }

    private func finish(_ outcome: IdentifierOutcome) throws(Problem) -> User {
        let account = try outcome.account(noSuchUser: Problem(.invalidToken))
        worker.wake()
        return account.user
    }
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

/// Changes of identifiers that can still be undone (table `identifier_changes`).
struct IdentifierChangeStore: Sendable {
    let database: PostgresPool
    let grants: AppleGrantStore

    /// Restores the former identifier, ends all sessions, and removes credentials that an attacker may have.
    func undo(_ digest: [UInt8]) async throws -> UndoOutcome {
        struct Taken: Error {}
        do {
            return try await database.withRetriedTransaction { transaction in
                let holder = try await transaction.query(
                    "SELECT user_id FROM identifier_changes WHERE digest = \(digest) AND expires_at > now()"
                ).first?.decode(UUID.self)
                guard let userID = holder, try await AccountStore.lock(userID, on: transaction) else {
                    return .unknown
                }
                let tokens = try await Self.tokens(of: userID, on: transaction)
                guard let used = tokens.first(where: { $0.digest == digest }) else { return .unknown }
                if used.isContested {
                    try await transaction.query("DELETE FROM identifier_changes WHERE user_id = \(userID)")
                    try await AccountStore.setState(
                        .disabled, of: userID, actor: .system, detail: "contested", on: transaction)
                    return .locked
                }
                let change = used.change
                try await IdentifierStore.delete(change.former.kind, of: userID, on: transaction)
                let isTheirs = try await IdentifierStore.claim(
                    change.former, for: userID, isVerified: true, actor: .user, on: transaction)
                guard isTheirs else { throw Taken() }
                try await IdentifierStore.restore(change.origin, of: change.former, on: transaction)
                try await settle(tokens, after: used, on: transaction)
                try await removeCredentials(of: userID, undoing: change, on: transaction)
                if IdentifierUndo.removesRights(undoing: change) {
                    try await AccountStore.removeRights(of: userID, on: transaction)
                }
                return try await .undone(revocation(of: userID, change.former.kind, on: transaction))
            }
        } catch is Taken {
            return .taken
        }
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
        try await PasswordStore.remove(of: userID, on: transaction)
        try await KnownDeviceStore.forget(devicesOf: userID, on: transaction)
        for other in try await IdentifierStore.all(of: userID, on: transaction)
        where other.identifier.kind != change.former.kind && IdentifierUndo.removes(other.origin, undoing: change) {
            try await IdentifierStore.delete(other.identifier.kind, of: userID, on: transaction)
        }
        let linked = try await transaction.query(
            "SELECT created_at, merged_from, merged_at FROM apple_identities WHERE user_id = \(userID)"
        ).decode((Date, UUID?, Date?).self).first
        if let (since, account, mergedAt) = linked,
            IdentifierUndo.removes(
                CredentialOrigin(since: since, mergedFrom: account, mergedAt: mergedAt), undoing: change)
        {
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

    /// An operator's change is final. Earlier changes can no longer be undone.
    static func forget(_ kind: Identifier.Kind, of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            "DELETE FROM identifier_changes WHERE user_id = \(userID) AND kind = \(kind.rawValue)")
    }
}

/// Undoes a change of an identifier (`POST /v1/auth/identifiers/undo`), with the token that was sent to the former one.
struct IdentifierUndoing: Sendable {
    let changes: IdentifierChangeStore
    let delivery: OutboxDelivery
    let limits: AttemptLimits
    let worker: OutboxWorker

    /// - Throws: `INVALID_REQUEST` for every invalid token, whatever the reason; `IDENTIFIER_TAKEN` where another user
    ///   has verified the identifier since; `ACCOUNT_DISABLED` where a token was used before whose holder may also be
    ///   the owner.
    func callAsFunction(_ request: UndoIdentifierChangeRequest, context: GatehouseRequestContext) async throws {
        try await limits.admit(.undo, from: context.clientAddress)
        switch try await changes.undo(SingleUseToken.digest(of: request.token)) {
        case .undone(let entry):
            worker.wake()
            // If tokens is unavailable now, the outbox ends the sessions later.
            try? await delivery.deliver(entry)
        case .locked:
            worker.wake()
            throw Problem(.accountDisabled, "Two people claim this account. It is locked. Please ask for help.")
        case .unknown:
            throw Problem.invalid("token", "The link is no longer valid.")
        case .taken:
            throw Problem(.identifierTaken, "Another account has verified this since.")
        }
    }
}
