import Foundation

/// The name a user goes by: free text that is shown to others.
struct DisplayName: Hashable, Sendable {
    let value: String

    /// In characters as a reader counts them.
    static let maximumLength = 100
    /// In bytes of UTF-8: one character can be a letter with any number of combining marks.
    static let maximumBytes = 16 * maximumLength

    /// `nil` where the text is blank, which is how a user takes the name away.
    static func read(_ text: String) throws(Refusal) -> DisplayName? {
        let trimmed = Text.trimmed(text)
        guard !trimmed.isEmpty else { return nil }
        let tooLong = Refusal("The name is longer than \(maximumLength) characters.")
        // The length first: the time to normalize grows with its square.
        guard trimmed.utf8.count <= maximumBytes else { throw tooLong }
        let name = trimmed.precomposedStringWithCanonicalMapping
        guard name.utf8.count <= maximumBytes, name.count <= maximumLength else { throw tooLong }
        guard !name.unicodeScalars.contains(where: Text.isDeceptive),
            !name.unicodeScalars.allSatisfy({ Text.isInvisible($0) || $0.properties.isWhitespace })
        else {
            throw Refusal("The name contains characters that cannot be shown.")
        }
        return DisplayName(value: name)
    }

    /// The name that Apple's dialog gave the app, once and unsigned. It must not fail a sign-in: characters that cannot
    /// be shown are left out, and a name that is too long is cut.
    static func fromApple(givenName: String?, familyName: String?) -> DisplayName? {
        let parts = [givenName, familyName].compactMap(\.self).map { part in
            var visible = String.UnicodeScalarView()
            visible.append(contentsOf: part.unicodeScalars.lazy.filter { !Text.isDeceptive($0) }.prefix(maximumBytes))
            return Text.trimmed(String(visible))
        }
        let joined = parts.filter { !$0.isEmpty }.joined(separator: " ")
        return try? read(String(joined.prefix(maximumLength)))
    }
}
