/// What a message is for.
enum MessageKind: String, Codable, Sendable, CaseIterable {
    case signIn
    case verify
    case passwordReset

    /// What a template of this kind has to hold: a message without it is of no use.
    var required: MessagePlaceholder {
        self == .passwordReset ? .link : .code
    }

    /// What a template of this kind may hold.
    var allowed: Set<MessagePlaceholder> {
        self == .passwordReset ? [.link, .app, .minutes] : [.code, .link, .app, .minutes]
    }
}
