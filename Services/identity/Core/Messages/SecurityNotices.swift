package import Foundation
package import Postgres

/// Notices about changes of an account, sent to its verified identifiers, so that the user notices an attacker's
/// change. No notice goes to an unverified identifier, because it may belong to another person. Each notice is enqueued
/// in the change's transaction.
package struct SecurityNotices: Sendable {
    package let messages: MessageQueue

    /// Seconds after which a notice without a link expires.
    static let lifetime: TimeInterval = 3 * 86_400

    /// Sends a notice to every verified identifier of the user.
    package func send(_ kind: MessageKind, toUser userID: UUID, on transaction: PostgresTransaction) async throws {
        for identifier in try await IdentifierStore.all(of: userID, on: transaction) where identifier.isVerified {
            try await enqueue(kind, to: identifier.identifier, lifetime: Self.lifetime, on: transaction)
        }
    }

    /// No message is enqueued where no sender is configured for that kind of identifier.
    package func enqueue(
        _ kind: MessageKind, to identifier: Identifier, values: [MessagePlaceholder: String] = [:],
        lifetime: TimeInterval, on transaction: PostgresTransaction
    ) async throws {
        guard (try? messages.check(identifier)) != nil else { return }
        try await messages.enqueue(
            MessageEnvelope(
                kind, to: identifier, language: messages.language(of: RequestLanguage.current), values: values,
                expiresAt: Date.now.addingTimeInterval(lifetime)),
            on: transaction)
    }
}

/// Notifies an account's user that another user has verified one of their identifiers. The notice goes to the account's
/// other identifier, if that one is verified. It is a task of the outbox.
package struct LossNotice: Sendable {
    let identifiers: IdentifierStore
    let messages: MessageDelivery
    let templates: MessageQueue

    /// - Parameters:
    ///   - channel: the kind of the identifier that receives the notice.
    ///   - language: the language that the client of the verifying user asked for. The account's own language is
    ///     unknown.
    func deliver(_ entry: OutboxEntry, to channel: Identifier.Kind, language: String?) async throws {
        guard let userID = entry.userID,
            let identifier = try await identifiers.verified(channel, of: userID)
        else { return }
        let envelope = MessageEnvelope(
            .identifierLost, to: identifier, language: templates.language(of: language), values: [:],
            expiresAt: entry.createdAt.addingTimeInterval(SecurityNotices.lifetime))
        try await messages.deliver(envelope, to: identifier, as: entry.id)
    }

    var handlers: [OutboxHandler] {
        [
            OutboxHandler(IdentifierLossTask.self, for: .mail, .phone) { task, entry in
                try await deliver(entry, to: task.channel, language: task.language)
                return .done
            }
        ]
    }
}

extension MessageKind {
    /// Reports that the identifier it goes to was changed, and how to undo that.
    package static let identifierChanged = MessageKind(
        "identifierChanged", isSecurityNotice: true, required: .link, allowed: [.link, .app, .days],
        templates: [
            "en": PackageResources.identifierChanged_en_txt, "he": PackageResources.identifierChanged_he_txt,
            "ru": PackageResources.identifierChanged_ru_txt, "ar": PackageResources.identifierChanged_ar_txt,
        ])
    /// Reports that another user has verified the account's other identifier.
    static let identifierLost = MessageKind(
        "identifierLost", isSecurityNotice: true, allowed: [.app],
        templates: [
            "en": PackageResources.identifierLost_en_txt, "he": PackageResources.identifierLost_he_txt,
            "ru": PackageResources.identifierLost_ru_txt, "ar": PackageResources.identifierLost_ar_txt,
        ])
    /// Reports that another account was merged with the account, and how to undo that.
    package static let accountsMerged = MessageKind(
        "accountsMerged", isSecurityNotice: true, required: .link, allowed: [.link, .app, .days],
        templates: [
            "en": PackageResources.accountsMerged_en_txt, "he": PackageResources.accountsMerged_he_txt,
            "ru": PackageResources.accountsMerged_ru_txt, "ar": PackageResources.accountsMerged_ar_txt,
        ])

    package static let ofAccountNotices = [identifierChanged, identifierLost, accountsMerged]
}
