// Pure: no I/O, no clock.

import Foundation
import GatehouseBytes
package import IdentityCore

/// A password in NFKC (NIST SP 800-63B-4 §3.1.1.2), because keyboards type the same password in different ways.
/// Printing a value does not show the password, so that it appears in no log and no error.
package struct Password: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// In Unicode scalars. A longer password is refused, not cut.
    static let maximumLength = 256
    /// NFKC combines at most four scalars, together at most 16 bytes, into one. A longer text is therefore too long in
    /// NFKC as well. It is refused without normalizing, which would take a second for one letter with 56 KB of
    /// combining marks.
    private static let scalarsBefore = 4 * maximumLength
    private static let bytesBefore = 16 * maximumLength

    let text: String
    /// The password as the client sent it. Other systems hashed this form.
    let typed: String

    package init(_ text: String) throws(Refusal) {
        let tooLong = Refusal("The password is longer than \(Self.maximumLength) characters.")
        guard text.utf8.count <= Self.bytesBefore, text.unicodeScalars.count <= Self.scalarsBefore else {
            throw tooLong
        }
        let normalized = text.precomposedStringWithCompatibilityMapping
        guard normalized.unicodeScalars.count <= Self.maximumLength else { throw tooLong }
        guard !normalized.isEmpty else { throw Refusal("Please enter a password.") }
        self.text = normalized
        typed = text
    }

    /// The bytes that another system may have hashed: the password as typed, and in the other normal form, NFD where it
    /// was typed in NFC, and NFC otherwise.
    var foreignForms: [[UInt8]] {
        let composed = typed.precomposedStringWithCanonicalMapping
        let other = typed.isVerbatim(composed) ? typed.decomposedStringWithCanonicalMapping : composed
        return typed.isVerbatim(other) ? [Array(typed.utf8)] : [Array(typed.utf8), Array(other.utf8)]
    }

    package var description: String { "(password)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The result of comparing a password with a hash.
enum PasswordComparison: Sendable {
    case wrong
    case right
    /// The hash depends on a part of the password alone.
    case rightInPart
}

/// Requirements for a new password. Its length counts; its composition does not (NIST SP 800-63B-4 §3.1.1.2).
struct PasswordPolicy: Sendable {
    /// In Unicode scalars after NFKC.
    var minimumLength = 8

    /// Why the password is refused, in words for the user; `nil` where it is accepted.
    /// - Parameter identifiers: the user's own, in the form in which they are stored.
    func weakness(of password: Password, for identifiers: [String]) -> String? {
        let scalars = password.text.unicodeScalars
        if scalars.count < minimumLength {
            return "The password needs at least \(minimumLength) characters."
        }
        let folded = password.text.lowercased()
        if Set(folded.unicodeScalars).count < 3 || CommonPasswords.contains(folded) {
            return "This password is too common. An attacker would try it first."
        }
        let names = identifiers.flatMap {
            [$0, EmailAddress.unicode($0), $0.split(separator: "@").first.map(String.init) ?? $0]
        }
        if names.contains(folded) {
            return "The password is your own address or number."
        }
        return nil
    }
}
