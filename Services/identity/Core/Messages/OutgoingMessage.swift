// Pure: no I/O, no clock.

import Foundation
import GatehouseServiceContracts

/// A kind of message, by its purpose. Features declare their kinds as static members, and list them for the
/// application.
package struct MessageKind: Sendable {
    /// The name in files of templates, in sealed messages, and for a team's own sender.
    let rawValue: String
    /// Whether it warns a user of a change that an attacker may have made. Its budget is separate from that of codes.
    let isSecurityNotice: Bool
    /// The placeholder that a template of this kind must contain. A message without it is of no use.
    let required: MessagePlaceholder?
    /// The placeholders that a template of this kind may contain.
    let allowed: Set<MessagePlaceholder>
    /// Whether a team's own language may lack this kind, because the kind was added after the first release. The
    /// message is then sent in English.
    let isOptional: Bool
    /// Gatehouse's own templates, by the code of their language.
    let templates: [String: [UInt8]]

    package init(
        _ rawValue: String, isSecurityNotice: Bool = false, required: MessagePlaceholder? = nil,
        allowed: Set<MessagePlaceholder>, isOptional: Bool = true, templates: [String: [UInt8]]
    ) {
        self.rawValue = rawValue
        self.isSecurityNotice = isSecurityNotice
        self.required = required
        self.allowed = allowed
        self.isOptional = isOptional
        self.templates = templates
    }

    /// Whether its link undoes the reported change.
    var undoesChange: Bool { isSecurityNotice && required == .link }
}

extension MessageKind: Hashable {
    package static func == (one: MessageKind, other: MessageKind) -> Bool { one.rawValue == other.rawValue }

    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

extension MessageKind: Codable {
    /// The decoder's list of kinds. It refuses the name of any other kind.
    static let known = CodingUserInfoKey(rawValue: "known kinds of messages")!

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let name = try container.decode(String.self)
        let kinds = decoder.userInfo[Self.known] as? [MessageKind]
        guard let kind = kinds?.first(where: { $0.rawValue == name }) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no known kind of message")
        }
        self = kind
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// The language of a message.
package struct MessageLanguage: Hashable, Sendable, CustomStringConvertible {
    /// ISO 639, in lower case.
    package let code: String

    /// - Returns: `nil` where the text is not a code of two or three letters.
    package init?(_ code: String) {
        guard (2...3).contains(code.utf8.count), code.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")) ~= $0 })
        else { return nil }
        // The code of Hebrew before 1989, which some systems still send.
        self.code = code == "iw" ? "he" : code
    }

    package static let english = MessageLanguage("en")!

    package var description: String { code }

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
package enum MessagePlaceholder: String, Codable, Sendable, CaseIterable {
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
package struct OutgoingMessage: Sendable {
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
