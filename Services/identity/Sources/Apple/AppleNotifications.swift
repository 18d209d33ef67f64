import Contracts
import Foundation
import Logging
import ServiceKit

/// Apple's notifications (`POST /v1/auth/apple/notifications`). What a notification asks for may be done twice, so its
/// identifier is noted last.
struct AppleNotifications: Sendable {
    let accounts: AccountStore
    let tokens: TokensClient
    let verifier: AppleTokenVerifier
    let policy: AppleTokenPolicy
    let deletion: AccountDeletion
    let worker: OutboxWorker
    let sealer: Sealer
    let logger: Logger

    func callAsFunction(_ request: AppleNotificationRequest, context: GatehouseRequestContext) async throws {
        let now = Int64(Date.now.timeIntervalSince1970)
        guard let notification = try await verifier.claims(AppleNotification.self, of: request.payload),
            notification.isGenuine(for: policy, now: now)
        else { throw Problem(.invalidAppleToken) }
        let deadline = context.deadline.forDatabase
        guard try await !accounts.knows(notification: notification.id, deadline: deadline) else { return }
        if let (account, _) = try await accounts.account(
            appleSubject: notification.event.subject, deadline: deadline)
        {
            try await act(on: notification, of: account, deadline: context.deadline)
        }
        logger.info("Apple sent a notification", metadata: ["type": "\(notification.event.type.prefix(64))"])
        try await accounts.note(notification: notification.id, deadline: deadline)
    }

    private func act(
        on notification: AppleNotification, of account: Account, deadline: Deadline
    ) async throws {
        switch notification.consequence {
        case .endSessions:
            let time = notification.happenedAt
            if try await accounts.endAppleConsent(of: account.id, at: time, deadline: deadline.forDatabase) {
                worker.ring()
            } else {
                try await endSessions(of: account.id, madeBefore: time, deadline: deadline)
            }
        case .unlink:
            let outcome = try await accounts.unlink(
                .apple, from: account.id, actor: .apple, sealer: sealer, deadline: deadline.forDatabase)
            if case .lastOne = outcome {
                try await deletion(account.id, actor: .apple, deadline: deadline)
            }
            worker.ring()
        case .nothing:
            break
        }
    }

    /// The user has come back since: only the sessions of the former consent end.
    private func endSessions(of userID: UUID, madeBefore time: Date, deadline: Deadline) async throws {
        let sessions = try await tokens.sessions(of: userID, deadline: deadline).sessions
        for session in sessions where session.createdAt < time {
            try await tokens.takeBack(session: session.id)
        }
    }
}
