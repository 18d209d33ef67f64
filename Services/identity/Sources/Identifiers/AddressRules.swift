import Foundation

/// An e-mail address in the one form in which Gatehouse stores and compares it.
///
/// NFKC and lower case throughout: no current mail service distinguishes `Ada@` from `ada@`, and neither do users.
/// Quoted local parts, comments and address literals (RFC 5321 §4.1.2, §4.1.3) are refused; letters of every script are
/// allowed (RFC 6531).
struct EmailAddress: Hashable, Sendable, CustomStringConvertible {
    let value: String

    /// RFC 5321 §4.5.3.1 with erratum 1690, in UTF-8 bytes.
    static let maximumLength = 254
    /// In bytes before NFKC, which keeps at least a quarter of them.
    private static let bytesBefore = 4 * maximumLength

    init(_ text: String) throws(Refusal) {
        let trimmed = Text.trimmedOfMarks(text)
        guard trimmed.utf8.count <= Self.bytesBefore else { throw Refusal("The e-mail address is too long.") }
        guard !trimmed.unicodeScalars.contains(where: Text.isInvisible) else {
            throw Refusal("The e-mail address contains invisible characters.")
        }
        let folded = trimmed.precomposedStringWithCompatibilityMapping.lowercased()
            .precomposedStringWithCompatibilityMapping
        guard folded.utf8.count <= Self.maximumLength else {
            throw Refusal("The e-mail address is too long.")
        }
        let parts = folded.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isLocalPart(parts[0]), Self.isDomain(parts[1]) else {
            throw Refusal("This is not an e-mail address.")
        }
        value = folded
    }

    var description: String { value }

    private static func isLocalPart(_ part: Substring) -> Bool {
        (1...64).contains(part.utf8.count)
            && part.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { atom in
                !atom.isEmpty && atom.unicodeScalars.allSatisfy(isAtomText)
            }
    }

    private static func isAtomText(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII
            ? isLetterOrDigit(scalar) || "!#$%&'*+-/=?^_`{|}~".unicodeScalars.contains(scalar)
            : isLetterOrDigit(scalar) || isMark(scalar)
    }

    private static func isDomain(_ domain: Substring) -> Bool {
        let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count >= 2, let last = labels.last else { return false }
        return labels.allSatisfy(isLabel) && !last.unicodeScalars.allSatisfy { ("0"..."9").contains($0) }
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
            && label.unicodeScalars.allSatisfy { $0 == "-" || isLetterOrDigit($0) || (!$0.isASCII && isMark($0)) }
    }

    private static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber: true
        default: false
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark: true
        default: false
        }
    }
}
