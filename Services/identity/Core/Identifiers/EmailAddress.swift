// Pure: no I/O, no clock.

import Foundation

/// An e-mail address in the one form in which Gatehouse stores, compares and sends it.
///
/// NFKC and lower case throughout: no current mail service distinguishes `Ada@` from `ada@`, and neither do users. The
/// domain is the one that DNS knows: `münchen.example` is `xn--mnchen-3ya.example`. Quoted local parts, comments and
/// address literals (RFC 5321 §4.1.2, §4.1.3) are refused; letters of every script are allowed (RFC 6531).
package struct EmailAddress: Hashable, Sendable, CustomStringConvertible {
    package let value: String

    /// RFC 5321 §4.5.3.1 with erratum 1690, in UTF-8 bytes.
    package static let maximumLength = 254
    /// In bytes before NFKC, which keeps at least a quarter of them, and before the domain's conversion.
    private static let bytesBefore = 4 * maximumLength

    package init(_ text: String) throws(Refusal) {
        let tooLong = Refusal("The e-mail address is too long.")
        let trimmed = Text.trimmedOfMarks(text)
        guard trimmed.utf8.count <= Self.bytesBefore else { throw tooLong }
        guard !trimmed.unicodeScalars.contains(where: Text.isInvisible) else {
            throw Refusal("The e-mail address contains invisible characters.")
        }
        let folded = trimmed.precomposedStringWithCompatibilityMapping.lowercased()
            .precomposedStringWithCompatibilityMapping
        guard folded.utf8.count <= Self.bytesBefore else { throw tooLong }
        let parts = folded.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isLocalPart(parts[0]), let domain = InternetDomain.ascii(parts[1]),
            Self.isDomain(domain)
        else { throw Refusal("This is not an e-mail address.") }
        value = "\(parts[0])@\(domain)"
        guard value.utf8.count <= Self.maximumLength else { throw tooLong }
    }

    /// A stored address as people read it, with its domain in Unicode, unless it would be too long in that form.
    package static func unicode(_ value: String) -> String {
        guard let at = value.lastIndex(of: "@") else { return value }
        let unicode = "\(value[...at])\(InternetDomain.unicode(value[value.index(after: at)...]))"
        return unicode.utf8.count <= maximumLength ? unicode : value
    }

    /// Whether a stored address is one that Apple has made for one app (Hide My Email). It forwards to the user's own.
    static func isRelay(_ value: String) -> Bool { value.hasSuffix("@privaterelay.appleid.com") }

    package var description: String { value }

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

    private static func isDomain(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count >= 2, let last = labels.last else { return false }
        return labels.allSatisfy(isLabel) && !last.unicodeScalars.allSatisfy { ("0"..."9").contains($0) }
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
            && label.unicodeScalars.allSatisfy { $0 == "-" || ($0.isASCII && isLetterOrDigit($0)) }
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
