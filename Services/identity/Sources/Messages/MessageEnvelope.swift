import Foundation

/// A message that waits in the outbox, sealed: it holds a code, and where that goes.
struct MessageEnvelope: Codable, Sendable {
    var kind: MessageKind
    var channel: Identifier.Kind
    /// An identifier's value.
    var to: String
    /// A code of a language. It was chosen when the message was asked for, since nobody is there to ask when it is sent.
    var language: String
    var values: [String: String]
    var expiresAt: Date

    /// - Parameter values: all but those that every message has.
    init(
        _ kind: MessageKind, to identifier: Identifier, language: MessageLanguage,
        values: [MessagePlaceholder: String], expiresAt: Date
    ) {
        self.kind = kind
        channel = identifier.kind
        to = identifier.value
        self.language = language.code
        self.values = Dictionary(uniqueKeysWithValues: values.map { ($0.rawValue, $1) })
        self.expiresAt = expiresAt
    }

    var placeholders: [MessagePlaceholder: String] {
        Dictionary(
            uniqueKeysWithValues: values.compactMap { name, value in
                MessagePlaceholder(rawValue: name).map { ($0, value) }
            })
    }
}
