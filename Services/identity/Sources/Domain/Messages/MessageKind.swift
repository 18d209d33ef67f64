import Contracts

/// What a message is for.
enum MessageKind: String, Codable, Sendable, CaseIterable {
    case signIn
    case verify
    case stepUp
    case passwordReset
    /// The identifier that it goes to was changed, and how to undo that.
    case identifierChanged
    /// Somebody else has proved the account's other identifier.
    case identifierLost

    /// The kind in which a code goes out.
    static func of(_ purpose: CodePurpose) -> MessageKind {
        switch purpose {
        case .verify: .verify
        case .stepUp: .stepUp
        default: .signIn
        }
    }

    /// What a template of this kind has to hold: a message without it is of no use.
    var required: MessagePlaceholder? {
        switch self {
        case .signIn, .verify, .stepUp: .code
        case .passwordReset, .identifierChanged: .link
        case .identifierLost: nil
        }
    }

    /// What a template of this kind may hold.
    var allowed: Set<MessagePlaceholder> {
        switch self {
        case .signIn, .verify, .stepUp: [.code, .link, .app, .minutes]
        case .passwordReset: [.link, .app, .minutes]
        case .identifierChanged: [.link, .app, .days]
        case .identifierLost: [.app]
        }
    }

    /// Whether a language of a team's own may lack it: the kind came later than the first. It is sent in English then.
    var isOptional: Bool {
        switch self {
        case .signIn, .verify, .passwordReset: false
        case .stepUp, .identifierChanged, .identifierLost: true
        }
    }
}
