import Foundation

/// A message as it is sent.
struct OutgoingMessage: Sendable {
    /// The same at every attempt.
    var id: UUID
    var kind: MessageKind
    var to: Identifier
    var language: MessageLanguage
    var text: MessageText
    /// What the text is filled in with.
    var values: [MessagePlaceholder: String]
    /// Until when it is of use.
    var expiresAt: Date
}
