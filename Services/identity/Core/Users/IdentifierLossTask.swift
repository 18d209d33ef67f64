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
    init(_ channel: Identifier.Kind?) {
        self = channel == .phone ? .phone : .mail
    }
}
