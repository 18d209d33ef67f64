/// Whom mails are from: `no-reply@example.com`, or with a name, `Shop <no-reply@example.com>`.
struct MailAuthor: Sendable, Equatable {
    var name: String
    var address: EmailAddress

    init(_ text: String) throws(Refusal) {
        guard let bracket = text.firstIndex(of: "<") else {
            name = ""
            address = try EmailAddress(text)
            return
        }
        let rest = Text.trimmed(text[text.index(after: bracket)...])
        guard rest.hasSuffix(">") else { throw Refusal("has no > at its end") }
        name = Text.trimmed(text[..<bracket])
        address = try EmailAddress(String(rest.dropLast()))
        guard name.utf8.count <= 200, !name.unicodeScalars.contains(where: Text.isDeceptive) else {
            throw Refusal("has a name that is too long or cannot be shown")
        }
    }

    /// What stands behind the `@`.
    var domain: String { String(address.value.split(separator: "@").last ?? "") }
}
