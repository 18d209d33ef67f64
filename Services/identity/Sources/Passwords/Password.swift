import Foundation

/// A password as it was typed, in NFKC (NIST SP 800-63B-4 §3.1.1.2), so that two keyboards agree about one password.
/// It never shows itself: not in logs, not in errors.
struct Password: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// In Unicode scalars; nothing is ever cut off.
    static let maximumLength = 256

    let text: String

    init(_ text: String) throws(Refusal) {
        let normalized = text.precomposedStringWithCompatibilityMapping
        guard normalized.unicodeScalars.count <= Self.maximumLength else {
            throw Refusal("The password is longer than \(Self.maximumLength) characters.")
        }
        guard !normalized.isEmpty else { throw Refusal("Please enter a password.") }
        self.text = normalized
    }

    var description: String { "(password)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}
