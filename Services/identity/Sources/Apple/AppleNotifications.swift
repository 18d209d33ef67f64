import Contracts
import Foundation
import Logging
import ServiceKit

/// Apple's notifications (`POST /v1/auth/apple/notifications`). A notification is noted after it has been acted on: one
/// that was cut off in between is acted on again, which does no harm.
struct AppleNotifications: Sendable {
    let notifications: AppleNotificationStore
    let identities: AppleIdentityStore
    let grants: AppleGrantStore
    let providers: AuthProviderStore
    let tokens: TokensClient
    let verifier: AppleTokenVerifier
    let policy: AppleTokenPolicy
    let deletion: AccountDeletion
    let worker: OutboxWorker
    let logger: Logger

    func callAsFunction(_ request: AppleNotificationRequest, context: GatehouseRequestContext) async throws {
        let now = Int64(Date.now.timeIntervalSince1970)
        guard let notification = try await verifier.claims(AppleNotification.self, of: request.payload),
            notification.isGenuine(for: policy, now: now)
        else { throw Problem(.invalidAppleToken) }
        let deadline = context.deadline.forDatabase
        guard try await !notifications.knows(notification.id, deadline: deadline) else { return }
        if let (account, _) = try await identities.account(subject: notification.event.subject, deadline: deadline) {
            try await act(on: notification, of: account, deadline: context.deadline)
        }
        logger.info("Apple sent a notification", metadata: ["type": "\(notification.event.type.prefix(64))"])
        try await notifications.add(notification.id, deadline: deadline)
    }

    private func act(
        on notification: AppleNotification, of account: Account, deadline: Deadline
    ) async throws {
        switch notification.consequence {
        case .endSessions:
            let time = notification.happenedAt
            if try await grants.endConsent(of: account.id, at: time, deadline: deadline.forDatabase) {
                worker.ring()
            } else {
                try await endSessions(of: account.id, madeBefore: time, deadline: deadline)
            }
        case .unlink:
            let outcome = try await providers.unlink(
                .apple, from: account.id, actor: .apple, deadline: deadline.forDatabase)
            if case .lastOne = outcome {
                try await deletion(account.id, actor: .apple, deadline: deadline)
            }
            worker.ring()
        case .nothing:
            break
        }
    }

    /// The user has given consent again since. Only the sessions of the former consent end.
    private func endSessions(of userID: UUID, madeBefore time: Date, deadline: Deadline) async throws {
        let sessions = try await tokens.sessions(of: userID, deadline: deadline).sessions
        for session in sessions where session.createdAt < time {
            try await tokens.takeBack(session: session.id)
        }
    }
}
