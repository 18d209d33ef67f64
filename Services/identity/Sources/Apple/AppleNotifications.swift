import Contracts
import Foundation
import Logging
import ServiceKit

/// Apple's notifications (`POST /v1/auth/apple/notifications`). A notification is noted after it has been acted on: one
/// that was cut off in between is acted on again, which does no harm.
struct AppleNotifications: Sendable {
    let notifications: AppleNotificationStore
    let mail: AppleMailStore
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
        if let (account, email) = try await identities.account(
            subject: notification.event.subject, deadline: deadline)
        {
            try await act(on: notification, of: account, email: email, deadline: context.deadline)
        }
        logger.info("Apple sent a notification", metadata: ["type": "\(notification.event.type.prefix(64))"])
        try await notifications.add(notification.id, deadline: deadline)
    }

    private func act(
        on notification: AppleNotification, of account: Account, email: String?, deadline: Deadline
    ) async throws {
        let time = notification.happenedAt
        switch notification.consequence {
        case .endSessions:
            if try await grants.endConsent(of: account.id, at: time, deadline: deadline.forDatabase) {
                worker.ring()
            } else {
                try await endSessions(of: account.id, madeBefore: time, deadline: deadline)
            }
        case .unlink:
            // Somebody who has signed in with the Apple account since has not lost it.
            if try await identities.hasConsented(account.id, since: time, deadline: deadline.forDatabase) {
                return try await endSessions(of: account.id, madeBefore: time, deadline: deadline)
            }
            let outcome = try await providers.unlink(
                .apple, from: account.id, actor: .apple, deadline: deadline.forDatabase)
            if case .lastOne = outcome {
                try await deletion(account.id, actor: .apple, deadline: deadline)
            }
            worker.ring()
        case .setMailForwarding(let isForwarded):
            // An address that Gatehouse does not accept is nobody's identifier, and no mail is sent there.
            guard let address = (notification.event.email ?? email).flatMap({ try? EmailAddress($0) }) else { return }
            try await mail.note(
                isForwarded: isForwarded, to: address, of: account.id, since: time, deadline: deadline.forDatabase)
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
