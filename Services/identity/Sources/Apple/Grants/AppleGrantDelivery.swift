import Foundation
import Logging
import Sealing

/// Exchanges codes at Apple and revokes what Apple has granted, as tasks of the outbox.
struct AppleGrantDelivery: Sendable {
    let apple: AppleServer
    let grants: AppleGrantStore
    let outbox: OutboxStore
    let logger: Logger

    private var sealer: Sealer { grants.sealer }

    /// Exchanges a code for Apple's refresh token.
    /// - Parameter subject: whose the code is said to be.
    func exchange(_ entry: OutboxEntry, of subject: String) async throws {
        guard let secret = apple.clientSecret,
            Date.now.timeIntervalSince(entry.createdAt) < AppleGrant.codeLifetime,
            let grant = AppleGrant.open(entry.sealed, for: entry.id, by: sealer),
            let exchange = try await apple.exchange(grant, secret: secret)
        else { return }
        let isTheUsers = exchange.isOf(subject: subject, clientID: grant.clientID)
        if !isTheUsers {
            logger.warning("A code was of another Apple account than the user's", metadata: ["id": "\(entry.id)"])
        }
        try await persistently {
            try await keep(exchange.refreshToken, grant, of: isTheUsers ? subject : nil)
        }
    }

    /// Revokes a refresh token at Apple. A code is exchanged for its token first.
    func revoke(_ entry: OutboxEntry) async throws {
        guard let grant = AppleGrant.open(entry.sealed, for: entry.id, by: sealer) else {
            if entry.sealed != nil {
                logger.error("A grant of Apple's cannot be opened any more and stays", metadata: ["id": "\(entry.id)"])
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
            // The code is used up. From here on the task holds the token, so that it can be revoked at a later attempt
            // if Apple does not answer now.
            let rest = AppleGrant(clientID: grant.clientID, kind: .refreshToken, secret: token)
            let sealed = try rest.sealed(by: sealer, for: entry.id)
            do {
                try await persistently { try await outbox.replaceGrant(of: entry, by: sealed) }
            } catch {
                // There is no later attempt then, only this one.
                logger.error("A token of Apple's could not be kept before its end", metadata: ["id": "\(entry.id)"])
            }
            try await apple.revoke(refreshToken: token, clientID: grant.clientID, secret: secret)
        }
    }

    /// Keeps Apple's refresh token beside the Apple account. The token is revoked instead when no user has that account
    /// any more, because the user has deleted theirs or unlinked Apple in between, and when it is no user's here.
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

    /// Tries `action` for half a minute. Another attempt at the whole task would not do: Apple gives the token of a
    /// code once. The task's claim may run out meanwhile, which does no harm: the code cannot be exchanged again.
    private func persistently(_ action: () async throws -> Void) async throws {
        for pause in [0.5, 1, 2, 4, 8, 16] {
            do {
                return try await action()
            } catch {
                logger.warning(
                    "A refresh token of Apple's is not kept yet", metadata: ["error": "\(error)"])
                try await Task.sleep(for: .seconds(pause))
            }
        }
        try await action()
    }
}
