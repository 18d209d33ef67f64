/// What stands in braces in a template, and is filled in. Nothing of it was written by a user.
enum MessagePlaceholder: String, Codable, Sendable, CaseIterable {
    /// Six digits.
    case code
    /// Where the app is opened; where the team has named no place, the token itself, or nothing beside a code.
    case link
    /// The app's name, as the team has set it.
    case app
    /// For how many minutes the code or the link is valid.
    case minutes
    /// For how many days the link is valid.
    case days
}
