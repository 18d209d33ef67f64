import Contracts

/// What a message is for.
enum MessageKind: String, Codable, Sendable, CaseIterable {
    case signIn
    case verify
    case stepUp
    /// A code that joins the account with another one.
    case merge
    case passwordReset
    /// The identifier that it goes to was changed, and how to undo that.
    case identifierChanged
    /// Somebody else has proved the account's other identifier.
    case identifierLost
    /// Another account was joined with the account, and how to undo that.
    case accountsMerged
    case appleLinked
    case passwordChanged

    /// The kind in which a code goes out.
    static func of(_ purpose: CodePurpose) -> MessageKind {
        switch purpose {
        case .verify: .verify
        case .stepUp: .stepUp
        case .merge: .merge
        default: .signIn
        }
    }

    /// Whether it warns a user of a change that an attacker may have made. Its budget is not that of codes.
    var isSecurityNotice: Bool {
        switch self {
        case .signIn, .verify, .stepUp, .merge, .passwordReset: false
        case .identifierChanged, .identifierLost, .accountsMerged, .appleLinked, .passwordChanged: true
        }
    }

    /// What a template of this kind has to hold: a message without it is of no use.
    var required: MessagePlaceholder? {
        switch self {
        case .signIn, .verify, .stepUp, .merge: .code
        case .passwordReset, .identifierChanged, .accountsMerged: .link
        case .identifierLost, .appleLinked, .passwordChanged: nil
        }
    }

    /// What a template of this kind may hold.
    var allowed: Set<MessagePlaceholder> {
        switch self {
        case .signIn, .verify, .stepUp, .merge: [.code, .link, .app, .minutes]
        case .passwordReset: [.link, .app, .minutes]
        case .identifierChanged, .accountsMerged: [.link, .app, .days]
        case .identifierLost, .appleLinked, .passwordChanged: [.app]
        }
    }

    /// Whether a language of a team's own may lack it: the kind came later than the first. It is sent in English then.
    var isOptional: Bool {
        switch self {
        case .signIn, .verify, .passwordReset: false
        case .stepUp, .merge, .identifierChanged, .identifierLost, .accountsMerged, .appleLinked, .passwordChanged: true
        }
    }
}
