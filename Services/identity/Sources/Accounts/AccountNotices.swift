import Foundation
import Postgres

/// Notices about changes of an account, sent to its verified identifiers, so that the user notices an attacker's
/// change. No notice goes to an unverified identifier, because it may belong to another person. Each notice is enqueued
/// in the change's transaction.
struct AccountNotices: Sendable {
    let messages: MessageQueue
    /// The address of the link that undoes a change; `nil`: the message contains only the token.
    let undoLink: URL?

    /// Seconds after which a notice without a link expires.
    private static let lifetime: TimeInterval = 3 * 86_400

    /// Sends a notice without a link to every verified identifier.
    func send(_ kind: MessageKind, toUser userID: UUID, on transaction: PostgresTransaction) async throws {
        for held in try await IdentifierStore.all(of: userID, on: transaction) where held.isVerified {
            try await enqueue(kind, to: held.identifier, lifetime: Self.lifetime, on: transaction)
        }
    }

    /// Sends a link that undoes the change to the identifier that was changed or removed.
    func changed(_ former: AccountIdentifier, of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await sendUndo(.identifierChanged, to: former, of: userID, on: transaction)
    }

    /// Sends a link that undoes a merge to an identifier of one of the two accounts.
    /// - Parameters:
    ///   - userID: the account that stays.
    ///   - isKept: whether the identifier belongs to that account now.
    func merged(
        _ held: AccountIdentifier, into userID: UUID, isKept: Bool, on transaction: PostgresTransaction
    ) async throws {
        try await sendUndo(
            isKept ? .accountsMerged : .identifierChanged, to: held, of: userID, isMerge: true, on: transaction)
    }

    private func sendUndo(
        _ kind: MessageKind, to former: AccountIdentifier, of userID: UUID, isMerge: Bool = false,
        on transaction: PostgresTransaction
    ) async throws {
        guard former.isVerified, (try? messages.check(former.identifier)) != nil else { return }
        let token = SingleUseToken(.identifierUndo)
        try await IdentifierChangeStore.add(token, undoing: former, of: userID, isMerge: isMerge, on: transaction)
        let place = undoLink.map { "\($0.absoluteString)#\(token.text)" } ?? token.text
        try await enqueue(
            kind, to: former.identifier, values: [.link: place], lifetime: token.lifetime, on: transaction)
    }

    /// No message is enqueued where no sender is configured for that kind of identifier.
    private func enqueue(
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
struct LossNotice: Sendable {
    let identifiers: IdentifierStore
    let messages: MessageDelivery
    let templates: MessageQueue

    /// Seconds after which the notice expires.
    private static let lifetime: TimeInterval = 3 * 86_400

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
            expiresAt: entry.createdAt.addingTimeInterval(Self.lifetime))
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
