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
