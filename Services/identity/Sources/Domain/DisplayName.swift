import Foundation

/// The name a user goes by: free text, shown to others, trusted by nobody.
struct DisplayName: Hashable, Sendable {
    let value: String

    /// In characters as a reader counts them.
    static let maximumLength = 100

    /// `nil` where the text is blank, which is how a user takes the name away.
    static func read(_ text: String) throws(Refusal) -> DisplayName? {
        let name = Text.trimmed(text.precomposedStringWithCanonicalMapping)
        guard !name.isEmpty else { return nil }
        guard name.count <= maximumLength, name.utf8.count <= 16 * maximumLength else {
            throw Refusal("The name is longer than \(maximumLength) characters.")
        }
        guard !name.unicodeScalars.contains(where: Text.isDeceptive),
            !name.unicodeScalars.allSatisfy({ Text.isInvisible($0) || $0.properties.isWhitespace })
        else {
            throw Refusal("The name contains characters that cannot be shown.")
        }
        return DisplayName(value: name)
    }

    /// The name that Apple's dialog gave the app, once and unsigned. It must never fail a sign-in: what cannot be shown
    /// is left out, what is too long is cut.
    static func fromApple(givenName: String?, familyName: String?) -> DisplayName? {
        let parts = [givenName, familyName].compactMap(\.self).map { part in
            var visible = String.UnicodeScalarView()
            visible.append(contentsOf: part.unicodeScalars.filter { !Text.isDeceptive($0) })
            return Text.trimmed(String(visible))
        }
        let joined = parts.filter { !$0.isEmpty }.joined(separator: " ")
        return try? read(String(joined.prefix(maximumLength)))
    }
}
