import Foundation

/// Tells an account's user that somebody else has proved one of their identifiers, where another one of theirs is
/// proved. As a task of the outbox.
struct LossNotice: Sendable {
    let identifiers: IdentifierStore
    let messages: MessageDelivery
    let templates: MessageQueue

    /// Seconds after which nobody needs it any more.
    private static let lifetime: TimeInterval = 3 * 86_400

    /// - Parameters:
    ///   - channel: the kind of the identifier that it goes to.
    ///   - language: what the client of whoever proved the other one has asked for, which is all that is known.
    func deliver(_ entry: OutboxEntry, to channel: Identifier.Kind, language: String?) async throws {
        guard let userID = entry.userID,
            let identifier = try await identifiers.proved(channel, of: userID, deadline: .now + .seconds(5))
        else { return }
        let envelope = MessageEnvelope(
            .identifierLost, to: identifier, language: templates.language(of: language), values: [:],
            expiresAt: entry.createdAt.addingTimeInterval(Self.lifetime))
        try await messages.deliver(envelope, to: identifier, as: entry.id)
    }
}
