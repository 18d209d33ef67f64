import Contracts
import Foundation
import Logging
import ServiceKit

/// Apple's notifications (`POST /v1/auth/apple/notifications`). What a notification asks for may be done twice, so its
/// identifier is noted last.
struct AppleNotifications: Sendable {
    let accounts: AccountStore
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
            try await act(notification.consequence, on: account, deadline: context.deadline)
        }
        logger.info("Apple sent a notification", metadata: ["type": "\(notification.event.type.prefix(64))"])
        try await accounts.note(notification: notification.id, deadline: deadline)
    }

    private func act(
        _ consequence: AppleNotification.Consequence, on account: Account, deadline: Deadline
    ) async throws {
        switch consequence {
        case .endSessions:
            try await accounts.endAppleConsent(of: account.id, deadline: deadline.forDatabase)
            worker.ring()
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
}
