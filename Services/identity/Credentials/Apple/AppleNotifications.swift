import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Logging

/// Apple's notifications (`POST /v1/auth/apple/notifications`). A notification is recorded as handled after it has been
/// acted on. If processing is interrupted in between, it is acted on again, which is harmless.
struct AppleNotifications: Sendable {
    let notifications: AppleNotificationStore
    let mail: MailForwardingStore
    let identities: AppleIdentityStore
    let grants: AppleGrantStore
    let accounts: AccountActions
    let tokens: TokensClient
    let verifier: AppleTokenVerifier
    let policy: AppleTokenPolicy
    let logger: Logger

    func callAsFunction(_ request: AppleNotificationRequest) async throws {
        AuditedAttempt.note(.apple)
        let now = Int64(Date.now.timeIntervalSince1970)
        guard let notification = try await verifier.claims(AppleNotification.self, of: request.payload),
            notification.isGenuine(for: policy, now: now)
        else { throw Problem(.invalidAppleToken) }
        guard try await !notifications.knows(notification.id) else { return }
        if let (account, email) = try await identities.account(subject: notification.event.subject) {
            try await act(on: notification, of: account, email: email)
        }
        logger.info("Apple sent a notification", metadata: ["type": "\(notification.event.type.prefix(64))"])
        try await notifications.add(notification.id)
    }

    private func act(on notification: AppleNotification, of account: Account, email: String?) async throws {
        let time = notification.happenedAt
        switch notification.consequence {
        case .endSessions:
            if try await grants.endConsent(of: account.id, at: time) {
                accounts.worker.wake()
            } else {
                try await endSessions(of: account.id, madeBefore: time)
            }
        case .unlink:
            // A user who has signed in with the Apple account since then still has it.
            if try await identities.hasConsented(account.id, since: time) {
                return try await endSessions(of: account.id, madeBefore: time)
            }
            let outcome = try await accounts.unlinking(
                .apple, from: account.id, actor: .apple, countsIdentifiers: false)
            if case .lastOne = outcome { try await accounts.delete(account.id, .apple) }
            accounts.worker.wake()
        case .setMailForwarding(let isForwarded):
            // An address that Gatehouse does not accept is no user's identifier, and no mail is sent there.
            guard let address = (notification.event.email ?? email).flatMap({ try? EmailAddress($0) }) else { return }
            try await mail.note(isForwarded: isForwarded, to: address, of: account.id, since: time)
        case .nothing:
            break
        }
    }

    /// The user has given consent again since. Only the sessions of the earlier consent end.
    private func endSessions(of userID: UUID, madeBefore time: Date) async throws {
        let sessions = try await tokens.sessions(of: userID).sessions
        for session in sessions where session.createdAt < time {
            try await tokens.revokeUnused(session: session.id)
        }
    }
}

extension AppleNotification: Decodable {
    enum CodingKeys: String, CodingKey {
        case issuer = "iss"
        case audience = "aud"
        case issuedAt = "iat"
        case id = "jti"
        case events
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        issuer = try container.decode(String.self, forKey: .issuer)
        audience = try container.decode(String.self, forKey: .audience)
        issuedAt = try container.decode(NumericDate.self, forKey: .issuedAt).roundedDown
        id = try container.decode(String.self, forKey: .id)
        // Despite the name it is one event. Apple sends it as JSON in a string, and documents the object itself.
        if let text = try? container.decode(String.self, forKey: .events) {
            event = try StrictJSON.decode(Event.self, from: Array(text.utf8))
        } else {
            event = try container.decode(Event.self, forKey: .events)
        }
    }
}

extension AppleNotification.Event: Decodable {
    enum CodingKeys: String, CodingKey {
        case type
        case subject = "sub"
        case email
        case time = "event_time"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        type = try container.decode(String.self, forKey: .type)
        subject = try container.decode(String.self, forKey: .subject)
        email = try container.decodeIfPresent(String.self, forKey: .email)
        // Documented in seconds, but sent in milliseconds.
        time = try container.decodeIfPresent(Double.self, forKey: .time).map { time in
            time > 100_000_000_000 ? time / 1000 : time
        }
        guard time.map(NumericDate.range.contains) ?? true else {
            throw DecodingError.dataCorruptedError(
                forKey: .time, in: container, debugDescription: "not of the years 1970 to 9999")
        }
    }
}
