import Foundation
import GatehouseServiceContracts
import IdentityCore
import Logging
import Sealing

/// A grant of Apple for a user. It is revoked when the user deletes the account or unlinks Apple.
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

    /// Binds a sealed refresh token to its credential, which a merge gives to another user.
    static func context(ofCredential id: UUID) -> String {
        "apple refresh token of \(id.uuidString)"
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
            // The code is used up. From here on the task holds the token, so that a retry can revoke it if Apple
            // does not answer now.
            let rest = AppleGrant(clientID: grant.clientID, kind: .refreshToken, secret: token)
            let sealed = try rest.sealed(by: sealer, for: entry.id)
            do {
                try await retrying { try await outbox.replaceSealed(of: entry, by: sealed) }
            } catch {
                // Without the stored token no retry is possible. Only this delivery can revoke it.
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
