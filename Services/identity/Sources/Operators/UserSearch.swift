// Pure: no I/O, no clock.

import Foundation
import GatehouseBytes
import IdentityCore

/// The criteria by which an operator searches for users. Without criteria it finds all users.
struct UserSearch: Sendable, Equatable {
    var identifier: IdentifierPrefix?
    var id: IDPrefix?
    var state: AccountState?
    var role: Role?

    /// The order of the users, chosen so that an index has that order.
    var order: Order { identifier != nil ? .identifier : id != nil ? .id : .age }

    enum Order: Sendable {
        case identifier, id
        /// Newest first.
        case age
    }
}

/// The position at which a page of users ended.
enum UserCursor: Sendable, Equatable {
    case identifier(String)
    case id(UUID)
    case age(Date, UUID)

    /// The form that clients receive and send back.
    var text: String {
        switch self {
        case .identifier(let value): Base64URL.string(Array(value.utf8))
        case .id(let id): id.uuidString.lowercased()
        case .age(let time, let id): "\(time.microseconds).\(id.uuidString.lowercased())"
        }
    }

    /// - Throws: where the text is not a cursor of a list in this order.
    init(_ text: String, order: UserSearch.Order) throws(Refusal) {
        let refusal = Refusal("This is not a cursor of this list.")
        guard text.utf8.count <= 1024 else { throw refusal }
        switch order {
        case .identifier:
            guard let bytes = Base64URL.decode(text), let value = String(validating: bytes, as: UTF8.self),
                !value.unicodeScalars.contains(where: Text.isInvisible)
            else { throw refusal }
            self = .identifier(value)
        case .id:
            guard let id = UUID(uuidString: text) else { throw refusal }
            self = .id(id)
        case .age:
            guard let (time, id) = Date.microseconds(leading: text), let id = UUID(uuidString: id) else {
                throw refusal
            }
            self = .age(time, id)
        }
    }
}

/// The beginning of the identifiers that an operator searches for, in the form in which identifiers are stored.
struct IdentifierPrefix: Sendable, Equatable {
    let value: String

    /// - Parameters:
    ///   - text: the beginning of an e-mail address, or of a phone number in any usual spelling. Text without a country
    ///     code (`+`, `00`, or a national number where the team has named its country) is not a phone number.
    ///   - home: the country whose national phone numbers are accepted.
    init(_ text: String, home: PhoneRegion? = nil) throws(Refusal) {
        let trimmed = Text.trimmedOfMarks(text)
        guard !trimmed.isEmpty else { throw Refusal("This is empty.") }
        guard trimmed.utf8.count <= 2 * EmailAddress.maximumLength else { throw Refusal("This is too long.") }
        guard !trimmed.unicodeScalars.contains(where: Text.isInvisible) else {
            throw Refusal("This contains invisible characters.")
        }
        let folded = trimmed.precomposedStringWithCompatibilityMapping.lowercased()
            .precomposedStringWithCompatibilityMapping
        value = Self.phone(folded, home: home) ?? Self.address(folded) ?? folded
    }

    /// The beginning of a domain in another script has no stored form until its label is complete.
    private static func address(_ text: String) -> String? {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return try? EmailAddress(text).value
    }

    /// Above every identifier that begins with the prefix, in byte order. No identifier contains the last code point of
    /// Unicode.
    var end: String { value + "\u{10FFFF}" }

    private static func phone(_ text: String, home: PhoneRegion?) -> String? {
        var digits = ""
        for scalar in Text.withoutMarks(text).unicodeScalars {
            switch scalar {
            case "0"..."9": digits.unicodeScalars.append(scalar)
            case "+" where digits.isEmpty: digits = "+"
            case " ", "-", ".", "/", "(", ")": continue
            default: return nil
            }
        }
        if digits.hasPrefix("+") { return "+" + NationalPrefix.removed(fromInternational: String(digits.dropFirst())) }
        for prefix in [home?.internationalPrefix, "00"].compactMap(\.self) where digits.hasPrefix(prefix) {
            return "+" + NationalPrefix.removed(fromInternational: String(digits.dropFirst(prefix.count)))
        }
        guard let home, digits.hasPrefix("0") else { return nil }
        return "+" + home.international(digits)
    }
}

/// The beginning of the ids that an operator searches for.
struct IDPrefix: Sendable, Equatable {
    let first: UUID
    let last: UUID

    /// - Parameter text: up to 32 hexadecimal digits, with or without hyphens between them.
    init(_ text: String) throws(Refusal) {
        let refusal = Refusal("An id begins with hexadecimal digits.")
        guard text.utf8.count <= 36 else { throw refusal }
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard (1...32).contains(digits.count), digits.allSatisfy({ Hexadecimal.value($0) != nil }),
            let first = Self.id(digits, filledWith: "0"), let last = Self.id(digits, filledWith: "f")
        else { throw refusal }
        self.first = first
        self.last = last
    }

    private static func id(_ digits: [UInt8], filledWith filler: Character) -> UUID? {
        let text = Array(String(decoding: digits, as: UTF8.self)) + Array(repeating: filler, count: 32 - digits.count)
        let parts = [text[0..<8], text[8..<12], text[12..<16], text[16..<20], text[20..<32]]
        return UUID(uuidString: parts.map { String($0) }.joined(separator: "-"))
    }
}
