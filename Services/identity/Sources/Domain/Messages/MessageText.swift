/// What is written to somebody.
struct MessageText: Sendable, Equatable {
    var subject: String
    /// Instead of subject and text, to a phone.
    var short: String
    var paragraphs: [String]

    var text: String { paragraphs.joined(separator: "\n\n") + "\n" }
}
