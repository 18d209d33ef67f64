import Contracts
import Foundation
import Logging
import Postgres
import Sealing

/// What Apple has granted for a user. It is revoked when the user deletes the account or unlinks Apple.
struct AppleGrant: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable {
        case refreshToken
        /// Single-use; valid for five minutes.
        case authorizationCode
    }

    /// Seconds.
    static let codeLifetime: TimeInterval = 300

    /// The app's identifier that Apple issued the grant for.
    var clientID: String
    var kind: Kind
    var secret: String
    /// Set for a code from Sign in with Apple JS: Apple accepts the code only with the redirect URI of its request.
    var redirectURI: String?
}

extension AppleGrant {
    /// The purpose of the ``Sealer`` for grants and for Apple's refresh tokens.
    static let sealingPurpose = "gatehouse identity sealing"

    /// Binds a sealed refresh token to its user.
    static func context(ofUser userID: UUID) -> String {
        "apple refresh token of \(userID.uuidString)"
    }

    /// Seals the grant for one task of the outbox.
    func sealed(by sealer: Sealer, for taskID: UUID) throws -> Data {
        try sealer.seal(JSONEncoder().encode(self), context: "apple grant of \(taskID.uuidString)")
    }

    /// - Returns: `nil` when there is no grant, or it was sealed for another task or under a removed key.
    static func open(_ sealed: Data?, for taskID: UUID, by sealer: Sealer) -> AppleGrant? {
        sealed.flatMap { sealer.open($0, context: "apple grant of \(taskID.uuidString)") }
            .flatMap { try? JSONDecoder().decode(AppleGrant.self, from: $0) }
    }
}

/// What Apple has granted for a user: a sealed refresh token (in `apple_identities`), or an authorization code that is
/// not exchanged yet (in the outbox).
struct AppleGrantStore: Sendable {
    let database: PostgresPool
    let sealer: Sealer

    /// The grant to revoke at Apple when the user is deleted: the refresh token, or a code that is not exchanged yet.
    ///
    /// The user's Apple account is locked, so that no token is stored for it until the transaction ends. A token that
    /// arrives meanwhile waits, and then finds the account gone or with its next user.
    func grant(of userID: UUID, on transaction: PostgresTransaction) async throws -> AppleGrant? {
        // The code is read before the token. An exchange stores the token before it removes the code, so one of the two
        // is always visible here.
        let pending = try await OutboxStore.pendingExchange(of: userID, on: transaction)
        let identity = try await transaction.query(
            "SELECT client_id, refresh_token FROM apple_identities WHERE user_id = \(userID) FOR UPDATE"
        ).first?.decode((String, Data?).self)
        if let (clientID, sealed) = identity, let sealed,
            let token = sealer.open(sealed, context: AppleGrant.context(ofUser: userID)),
            let text = String(validating: token, as: UTF8.self)
        {
            return AppleGrant(clientID: clientID, kind: .refreshToken, secret: text)
        }
        return pending.flatMap { AppleGrant.open($0.sealed, for: $0.id, by: sealer) }
    }

    /// Stores Apple's refresh token with the Apple account that it was granted for. After a merge, that Apple account
    /// may belong to another user.
    /// - Returns: whether any user has that Apple account.
    func keepRefreshToken(_ token: String, clientID: String, of subject: String) async throws -> Bool {
        // This row is the only one that the transaction locks, so the order of locks does not matter here.
        try await database.withTransaction { transaction in
            let owner = try await transaction.query(
                "SELECT user_id FROM apple_identities WHERE subject = \(subject) FOR UPDATE"
            ).first?.decode(UUID.self)
            guard let owner else { return false }
            let sealed = try sealed(refreshToken: token, of: owner)
            try await transaction.query(
                "UPDATE apple_identities SET refresh_token = \(sealed), client_id = \(clientID) WHERE subject = \(subject)"
            )
            return true
        }
    }

    /// The sealed form that is stored with the user's identity.
    func sealed(refreshToken token: String, of userID: UUID) throws -> Data {
        try sealer.seal(Data(token.utf8), context: AppleGrant.context(ofUser: userID))
    }

    /// Enqueues the exchange of the authorization code for a refresh token.
    func enqueueExchange(of code: AppleGrant, subject: String, userID: UUID) async throws {
        try await OutboxStore.enqueue(
            .exchangeCode(subject: subject), user: userID, dueAtOnce: true, on: database,
            sealing: { try code.sealed(by: sealer, for: $0) })
    }

    /// Enqueues the revocation of the grant at Apple.
    func enqueueRevocation(of grant: AppleGrant, on database: some PostgresQuerying) async throws {
        try await OutboxStore.enqueue(
            .deletion(.revokeAtApple), user: nil, dueAtOnce: true, on: database,
            sealing: { try grant.sealed(by: sealer, for: $0) })
    }

    /// Removes the refresh token, which is void, and ends the user's sessions. The Apple account stays linked, so that
    /// the user can sign in again.
    /// - Parameter time: when the user withdrew the consent.
    /// - Returns: `false` when the user has given consent again since. Nothing has been done then.
    func endConsent(of userID: UUID, at time: Date) async throws -> Bool {
        try await database.withRetriedTransaction { transaction in
            guard try await AccountStore.lock(userID, on: transaction) else { return true }
            let ended = try await transaction.query(
                """
                UPDATE apple_identities SET refresh_token = NULL
                WHERE user_id = \(userID) AND coalesce(consented_at, created_at) <= \(time)
                """)
            guard ended.affectedRows == 1 else { return false }
            guard let version = try await AccountStore.touch(userID, credentials: true, on: transaction) else {
                return true
            }
            try await AuditLog.record(.appleConsentRevoked, userID, by: .apple, on: transaction)
            try await OutboxStore.enqueue(
                .revokeSessions(reason: .logout, except: nil, below: version), user: userID, dueAtOnce: true,
                on: transaction)
            return true
        }
    }
}

/// Exchanges codes at Apple and revokes what Apple has granted, as tasks of the outbox.
struct AppleGrantDelivery: Sendable {
    let apple: AppleServer
    let grants: AppleGrantStore
    let outbox: OutboxStore
    let logger: Logger

    private var sealer: Sealer { grants.sealer }

    /// Exchanges a code for Apple's refresh token.
    /// - Parameter subject: the subject that the code is said to belong to.
    func exchange(_ entry: OutboxEntry, of subject: String) async throws {
        guard let secret = apple.clientSecret,
            Date.now.timeIntervalSince(entry.createdAt) < AppleGrant.codeLifetime,
            let grant = AppleGrant.open(entry.sealed, for: entry.id, by: sealer),
            let exchange = try await apple.exchange(grant, secret: secret)
        else { return }
        let isTheUsers = exchange.isOf(subject: subject, clientID: grant.clientID)
        if !isTheUsers {
            logger.warning("A code belonged to another Apple account than the user's", metadata: ["id": "\(entry.id)"])
        }
        try await retrying {
            try await keep(exchange.refreshToken, grant, of: isTheUsers ? subject : nil)
        }
    }

    /// Revokes a refresh token at Apple. A code is first exchanged for its token.
    func revoke(_ entry: OutboxEntry) async throws {
        guard let grant = AppleGrant.open(entry.sealed, for: entry.id, by: sealer) else {
            if entry.sealed != nil {
                logger.error(
                    "A grant of Apple can no longer be opened and cannot be revoked", metadata: ["id": "\(entry.id)"])
            }
            return
        }
        guard let secret = apple.clientSecret else { return }
        switch grant.kind {
        case .refreshToken:
            try await apple.revoke(refreshToken: grant.secret, clientID: grant.clientID, secret: secret)
        case .authorizationCode:
            guard Date.now.timeIntervalSince(entry.createdAt) < AppleGrant.codeLifetime,
                let token = try await apple.exchange(grant, secret: secret)?.refreshToken
            else { return }
            // The code is used up. From here on the task holds the token, so that a later attempt can revoke it if
            // Apple does not answer now.
            let rest = AppleGrant(clientID: grant.clientID, kind: .refreshToken, secret: token)
            let sealed = try rest.sealed(by: sealer, for: entry.id)
            do {
                try await retrying { try await outbox.replaceGrant(of: entry, by: sealed) }
            } catch {
                // Without the stored token no later attempt is possible. Only this one can revoke it.
                logger.error(
                    "A refresh token of Apple could not be stored before its revocation",
                    metadata: ["id": "\(entry.id)"])
            }
            try await apple.revoke(refreshToken: token, clientID: grant.clientID, secret: secret)
        }
    }

    /// Stores Apple's refresh token with the Apple account. The token is revoked instead when no user has that Apple
    /// account: the user has deleted the account or unlinked Apple in between, or the Apple account never belonged to a
    /// user here.
    private func keep(_ token: String, _ grant: AppleGrant, of subject: String?) async throws {
        var isKept = false
        if let subject {
            isKept = try await grants.keepRefreshToken(token, clientID: grant.clientID, of: subject)
        }
        if !isKept {
            let rest = AppleGrant(clientID: grant.clientID, kind: .refreshToken, secret: token)
            try await grants.enqueueRevocation(of: rest, on: outbox.database)
        }
    }

    /// Retries `action` for half a minute. Retrying the whole task would not help: Apple gives the token of a code only
    /// once. The task's claim may expire meanwhile. That is harmless, because the code cannot be exchanged again.
    private func retrying(_ action: () async throws -> Void) async throws {
        for pause in [0.5, 1, 2, 4, 8, 16] {
            do {
                return try await action()
            } catch {
                logger.warning(
                    "A refresh token of Apple could not be stored yet", metadata: ["error": "\(error)"])
                try await Task.sleep(for: .seconds(pause))
            }
        }
        try await action()
    }
}
