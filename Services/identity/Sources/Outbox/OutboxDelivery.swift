import Contracts
import Foundation

/// Carries out the outbox's tasks. A task may be carried out twice; none is removed before it has been carried out.
struct OutboxDelivery: Sendable {
    let accounts: AccountStore
    let outbox: OutboxStore
    let tokens: TokensClient
    let devices: DevicesClient
    let appleGrants: AppleGrantDelivery
    let passwordResets: PasswordResetDelivery
    let messages: MessageDelivery
    let lossNotice: LossNotice

    func deliver(_ entry: OutboxEntry) async throws {
        switch entry.task {
        case .snapshot:
            if let userID = entry.userID, let account = try await accounts.account(userID) {
                try await tokens.put(account.snapshot)
            }
        case .revokeSessions(let reason, let except, let version):
            if let userID = entry.userID {
                try await tokens.revokeSessions(
                    of: userID,
                    RevokeSessionsRequest(exceptSession: except, belowCredentialsVersion: version, reason: reason))
            }
        case .endSession(let session):
            if let userID = entry.userID { try await tokens.endSession(session, of: userID) }
        case .takeBack(let session):
            try await tokens.takeBack(session: session)
        case .exchangeCode(let subject):
            try await appleGrants.exchange(entry, of: subject)
        case .message:
            try await messages.deliver(entry)
        case .passwordReset(_, let language):
            try await passwordResets.deliver(entry, language: language)
        case .identifierLost(let channel, let language):
            try await lossNotice.deliver(entry, to: channel, language: language)
        case .deletion(let step):
            try await carryOut(step, of: entry)
            // The task stays, as its own next step.
            if let next = step.next { return try await outbox.advance(entry, to: next) }
        }
        try await outbox.complete(entry)
    }

    /// Carries out the first step of a deletion, which the user waits for. The outbox does the others.
    func begin(deletion entry: OutboxEntry) async throws {
        guard case .deletion(.revokeSessions) = entry.task else { return }
        try await deliver(entry)
    }

    private func carryOut(_ step: DeletionStep, of entry: OutboxEntry) async throws {
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
            try await appleGrants.revoke(entry)
        }
    }
}
