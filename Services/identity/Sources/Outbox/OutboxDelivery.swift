import Contracts
import Foundation
import Logging
import Postgres
import ServiceKit

/// Tells others what stands in the outbox, and crosses it out.
/// Each task may be told twice; none is crossed out before it was heard.
struct OutboxDelivery: Sendable {
    let accounts: AccountStore
    let outbox: OutboxStore
    let tokens: TokensClient
    let devices: DevicesClient
    let apple: AppleServer
    let resetHook: ResetHook?
    let limits: AttemptLimits
    let sealer: Sealer
    let logger: Logger

    func deliver(_ entry: OutboxEntry) async throws {
        switch entry.task {
        case .snapshot:
            if let userID = entry.userID, let account = try await accounts.account(userID) {
                try await tokens.put(account.snapshot)
            }
            try await outbox.complete(entry)
        case .revokeSessions(let reason, let except, let version):
            if let userID = entry.userID {
                try await tokens.revokeSessions(
                    of: userID,
                    RevokeSessionsRequest(exceptSession: except, belowCredentialsVersion: version, reason: reason))
            }
            try await outbox.complete(entry)
        case .takeBack(let session):
            try await tokens.takeBack(session: session)
            try await outbox.complete(entry)
        case .exchangeCode(let subject):
            try await exchangeCode(entry, of: subject)
            try await outbox.complete(entry)
        case .passwordReset:
            try await sendReset(entry)
            try await outbox.complete(entry)
        case .deletion(let step):
            try await carryOut(step, of: entry)
        }
    }

    /// Does one step of a deletion; the next is for somebody else.
    private func carryOut(_ step: DeletionStep, of entry: OutboxEntry) async throws {
        try await perform(step, of: entry)
        if let next = step.next {
            try await outbox.advance(entry, to: next)
        } else {
            try await outbox.complete(entry)
        }
    }

    /// Does the first step of a deletion, which the user waits for, and leaves the others to the outbox.
    func begin(deletion entry: OutboxEntry) async throws {
        guard case .deletion(.revokeSessions) = entry.task else { return }
        try await deliver(entry)
    }

    private func perform(_ step: DeletionStep, of entry: OutboxEntry) async throws {
        switch step {
        case .revokeSessions, .sweepSessions:
            if let userID = entry.userID {
                try await tokens.revokeSessions(of: userID, RevokeSessionsRequest(reason: .accountDeleted))
            }
        case .eraseDevices:
            if let userID = entry.userID {
                try await devices.erase(userID)
            }
        case .revokeAtApple:
            if let grant = AppleGrant.open(entry.sealed, for: entry.id, by: sealer) {
                try await revoke(grant, of: entry)
            } else if entry.sealed != nil {
                logger.error("A grant of Apple's cannot be opened any more and stays", metadata: ["id": "\(entry.id)"])
            }
        }
    }

    private func revoke(_ grant: AppleGrant, of entry: OutboxEntry) async throws {
        guard let secret = apple.clientSecret else { return }
        switch grant.kind {
        case .refreshToken:
            try await apple.revoke(refreshToken: grant.secret, clientID: grant.clientID, secret: secret)
        case .authorizationCode:
            guard Date.now.timeIntervalSince(entry.createdAt) < AppleGrant.codeLifetime,
                let token = try await apple.exchange(
                    code: grant.secret, clientID: grant.clientID, secret: secret)?.refreshToken
            else { return }
            // From here on the token is what the task holds: should Apple not answer now, there is another attempt.
            let rest = AppleGrant(clientID: grant.clientID, kind: .refreshToken, secret: token)
            let sealed = try rest.sealed(by: sealer, for: entry.id)
            do {
                try await persistently { try await outbox.replaceGrant(of: entry, by: sealed) }
            } catch {
                // Then this is the only attempt there is.
                logger.error("A token of Apple's could not be kept before its end", metadata: ["id": "\(entry.id)"])
            }
            try await apple.revoke(refreshToken: token, clientID: grant.clientID, secret: secret)
        }
    }

    private func exchangeCode(_ entry: OutboxEntry, of subject: String) async throws {
        guard let secret = apple.clientSecret, let userID = entry.userID,
            Date.now.timeIntervalSince(entry.createdAt) < AppleGrant.codeLifetime,
            let grant = AppleGrant.open(entry.sealed, for: entry.id, by: sealer),
            let exchange = try await apple.exchange(code: grant.secret, clientID: grant.clientID, secret: secret)
        else { return }
        let isTheUsers = exchange.isOf(subject: subject, clientID: grant.clientID)
        if !isTheUsers {
            logger.warning("A code was of another Apple account than the user's", metadata: ["id": "\(entry.id)"])
        }
        try await persistently {
            try await keep(exchange.refreshToken, of: subject, grant, for: isTheUsers ? userID : nil)
        }
    }

    /// Keeps Apple's refresh token beside the identity, or has it revoked where that is gone: the user left while Apple
    /// answered, or unlinked that Apple account. So is one that is nobody's here.
    private func keep(_ token: String, of subject: String, _ grant: AppleGrant, for userID: UUID?) async throws {
        var isKept = false
        if let userID {
            isKept = try await accounts.keepRefreshToken(
                token, clientID: grant.clientID, of: userID, subject: subject, sealer: sealer)
        }
        if !isKept {
            let rest = AppleGrant(clientID: grant.clientID, kind: .refreshToken, secret: token)
            try await OutboxStore.enqueue(
                .deletion(.revokeAtApple), user: nil, dueAtOnce: true, on: outbox.database,
                sealing: { try rest.sealed(by: sealer, for: $0) })
        }
    }

    /// Tries again for half a minute what another attempt at the whole task could not make good: Apple gives the token of
    /// a code once. That the task's claim may run out meanwhile does no harm, since the code is of no use to anybody.
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

    /// A token that could not be handed over is of no use to anybody; the next attempt makes another.
    private func sendReset(_ entry: OutboxEntry) async throws {
        guard let resetHook, let sealed = entry.sealed,
            let text = sealer.open(sealed, context: PasswordReset.context(ofJob: entry.id)),
            let value = String(validating: text, as: UTF8.self), let identifier = try? Identifier(value),
            Date.now.timeIntervalSince(entry.createdAt) < ResetToken.lifetime
        else { return }
        guard try await accounts.account(identifiedBy: identifier, deadline: .now + .seconds(5)) != nil else { return }
        try await limits.sending {
            let token = ResetToken()
            let expiresAt = Date.now.addingTimeInterval(ResetToken.lifetime)
            guard try await accounts.startReset(of: identifier, token: token, expiresAt: expiresAt) != nil else {
                return false
            }
            // Nothing that the user wrote: whoever registers somebody's address would speak to them in the team's name.
            try await resetHook.send(
                PasswordResetMessage(
                    channel: identifier.kind.rawValue, to: identifier.value, token: token.text, expiresAt: expiresAt))
            return true
        }
    }
}
