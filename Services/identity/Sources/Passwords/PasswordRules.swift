import Bytes
import Crypto
import Foundation

/// A password in NFKC (NIST SP 800-63B-4 §3.1.1.2): keyboards type the same password in different ways. Printing one
/// does not show it, so that it appears in no log and no error.
struct Password: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// In Unicode scalars. A longer password is refused, not cut.
    static let maximumLength = 256
    /// NFKC makes one scalar of four at most, which have 16 bytes at most: a longer text is too long in NFKC as well. It
    /// is not normalized, which takes a second for one letter with 56 KB of combining marks.
    private static let scalarsBefore = 4 * maximumLength
    private static let bytesBefore = 16 * maximumLength

    let text: String
    /// As it came. Other systems hashed that.
    let typed: String

    init(_ text: String) throws(Refusal) {
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

    var description: String { "(password)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a new password must be. Length counts; composition does not (NIST SP 800-63B-4 §3.1.1.2).
struct PasswordPolicy: Sendable {
    /// In Unicode scalars after NFKC.
    var minimumLength = 8

    /// Why the password is refused, in words for whoever chose it; `nil` where it is not.
    /// - Parameter identifiers: the user's own, in the form in which they are kept.
    func weakness(of password: Password, for identifiers: [String]) -> String? {
        let scalars = password.text.unicodeScalars
        if scalars.count < minimumLength {
            return "The password needs at least \(minimumLength) characters."
        }
        let folded = password.text.lowercased()
        if Set(folded.unicodeScalars).count < 3 || CommonPasswords.contains(folded) {
            return "This password is among the first that anybody would try."
        }
        let names = identifiers.flatMap { [$0, $0.split(separator: "@").first.map(String.init) ?? $0] }
        if names.contains(folded) {
            return "The password is your own address or number."
        }
        return nil
    }
}

/// A token for setting a new password: 256 random bits, of which the hash is kept. Whoever has it reads what is sent to
/// the identifier.
struct ResetToken: Sendable {
    let text: String
    var digest: [UInt8] { Self.digest(text) }

    /// Seconds.
    static let lifetime: TimeInterval = 1800

    init() {
        text = "ghpr_" + Base64URL.string([UInt8].random(count: 32))
    }

    static func digest(_ text: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(text.utf8)))
    }
}
