import Contracts
import Foundation

/// The purpose of a message.
enum MessageKind: String, Codable, Sendable, CaseIterable {
    case signIn
    case verify
    case stepUp
    /// A code that merges the account with another one.
    case merge
    case passwordReset
    /// Reports that the identifier it goes to was changed, and how to undo that.
    case identifierChanged
    /// Reports that another user has verified the account's other identifier.
    case identifierLost
    /// Reports that another account was merged with the account, and how to undo that.
    case accountsMerged
    case appleLinked
    case passwordChanged

    /// The kind of message that delivers a code for the purpose.
    static func of(_ purpose: CodePurpose) -> MessageKind {
        switch purpose {
        case .verify: .verify
        case .stepUp: .stepUp
        case .merge: .merge
        default: .signIn
        }
    }

    /// Whether it warns a user of a change that an attacker may have made. Its budget is separate from that of codes.
    var isSecurityNotice: Bool {
        switch self {
        case .signIn, .verify, .stepUp, .merge, .passwordReset: false
        case .identifierChanged, .identifierLost, .accountsMerged, .appleLinked, .passwordChanged: true
        }
    }

    /// Whether its link undoes the reported change.
    var undoesChange: Bool { isSecurityNotice && required == .link }

    /// The placeholder that a template of this kind must contain. A message without it is of no use.
    var required: MessagePlaceholder? {
        switch self {
        case .signIn, .verify, .stepUp, .merge: .code
        case .passwordReset, .identifierChanged, .accountsMerged: .link
        case .identifierLost, .appleLinked, .passwordChanged: nil
        }
    }

    /// The placeholders that a template of this kind may contain.
    var allowed: Set<MessagePlaceholder> {
        switch self {
        case .signIn, .verify, .stepUp, .merge: [.code, .link, .app, .minutes]
        case .passwordReset: [.link, .app, .minutes]
        case .identifierChanged, .accountsMerged: [.link, .app, .days]
        case .identifierLost, .appleLinked, .passwordChanged: [.app]
        }
    }

    /// Whether a team's own language may lack this kind, because the kind was added after the first release. The
    /// message is then sent in English.
    var isOptional: Bool {
        switch self {
        case .signIn, .verify, .passwordReset: false
        case .stepUp, .merge, .identifierChanged, .identifierLost, .accountsMerged, .appleLinked, .passwordChanged: true
        }
    }
}

/// The language of a message.
struct MessageLanguage: Hashable, Sendable, CustomStringConvertible {
    /// ISO 639, in lower case.
    let code: String

    /// - Returns: `nil` where the text is not a code of two or three letters.
    init?(_ code: String) {
        guard (2...3).contains(code.utf8.count), code.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")) ~= $0 })
        else { return nil }
        // The code of Hebrew before 1989, which some systems still send.
        self.code = code == "iw" ? "he" : code
    }

    static let english = MessageLanguage("en")!

    var description: String { code }

    /// Whether it is written from right to left.
    var isRightToLeft: Bool { ["ar", "fa", "he", "ur", "yi"].contains(code) }

    /// The language that a client prefers, of those available.
    /// - Parameter field: the client's `Accept-Language` (RFC 9110 §12.5.4). Where it cannot be read, English.
    static func choose(_ field: String?, of available: Set<MessageLanguage>) -> MessageLanguage {
        guard let field, field.utf8.count <= 256 else { return .english }
        var best: (language: MessageLanguage, weight: Double)?
        for range in field.split(separator: ",").prefix(16) {
            let parts = range.split(separator: ";").map { Text.trimmed($0) }
            let primary = parts.first?.split(separator: "-").first?.lowercased() ?? ""
            guard let language = MessageLanguage(primary), available.contains(language) else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            if weight > 0, weight > best?.weight ?? 0 { best = (language, weight) }
        }
        return best?.language ?? .english
    }
}

/// A name in braces in a template, which is replaced by a value. No value contains text that a user wrote.
enum MessagePlaceholder: String, Codable, Sendable, CaseIterable {
    /// Six digits.
    case code
    /// The address that opens the app. Where the team has configured no address, the token itself, or nothing beside a
    /// code.
    case link
    /// The app's name, from the team's settings.
    case app
    /// The minutes for which the code or the link is valid.
    case minutes
    /// The days for which the link is valid.
    case days
}

/// The text of a message.
struct MessageText: Sendable, Equatable {
    var subject: String
    /// Sent to a phone, instead of subject and text.
    var short: String
    var paragraphs: [String]

    var text: String { paragraphs.joined(separator: "\n\n") + "\n" }
}

/// A message as it is sent.
struct OutgoingMessage: Sendable {
    /// The same at every retry.
    var id: UUID
    var kind: MessageKind
    var to: Identifier
    var language: MessageLanguage
    var text: MessageText
    /// The values of the text's placeholders.
    var values: [MessagePlaceholder: String]
    /// When the message expires.
    var expiresAt: Date
}

/// Why a message has bounced permanently: an enhanced status code of class 5 (RFC 3463 §2).
struct BounceStatus: Sendable, Equatable {
    let text: String

    init(_ text: String) throws(Refusal) {
        guard text.wholeMatch(of: /5\.[0-9]{1,3}\.[0-9]{1,3}/) != nil else {
            throw Refusal("This must be the status of a permanent failure, as in 5.1.1.")
        }
        self.text = text
    }
}
