import Foundation
import GatehouseServiceContracts
import Postgres

extension AuditEvent {
    /// An identifier was added to the account, or verified.
    static let identifierChanged = Self("identifier_changed", published: .identifierChanged)
    package static let identifierLost = Self("identifier_lost", published: .identifierChanged)
    /// By the user or an operator.
    package static let identifierRemoved = Self("identifier_removed", published: .identifierChanged)
    /// A change was undone by the link that was sent to the former identifier.
    package static let identifierRestored = Self("identifier_restored", published: .identifierChanged)
    package static let identifierVerified = Self("identifier_verified", published: .identifierChanged)

    package static let ofIdentifiers = [
        identifierChanged, identifierLost, identifierRemoved, identifierRestored, identifierVerified,
    ]
}

extension AuditedAttempt.Target {
    /// The account that has verified the identifier.
    package static func identifier(_ identifier: Identifier) -> Self {
        .owner { database in
            try await database.query(
                """
                SELECT user_id FROM identifiers
                WHERE kind = \(identifier.kind.rawValue) AND value = \(identifier.value) AND verified
                """
            ).first?.decode(UUID.self)
        }
    }
}

extension OutboxTask {
    /// Notifies the user that another user has verified one of their identifiers.
    /// - Parameters:
    ///   - channel: the kind of the other identifier, to which the message goes.
    ///   - language: the language that the verifying user's client asked for.
    static func identifierLost(channel: Identifier.Kind, language: String?) -> OutboxTask {
        OutboxTask(IdentifierLossTask(channel: channel, language: language), for: OutboxDestination(channel))
    }
}

struct IdentifierLossTask: OutboxPayload {
    static let kind = "identifier_lost"
    static let key = "identifierLost"

    var channel: Identifier.Kind
    var language: String?
}

extension OutboxDestination {
    /// The queue of messages to identifiers of a kind. Without a kind, which tasks of older versions lack, it is mail.
    package init(_ channel: Identifier.Kind?) {
        self = channel == .phone ? .phone : .mail
    }
}
