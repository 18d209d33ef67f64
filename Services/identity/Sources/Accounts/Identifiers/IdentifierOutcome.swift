/// What has become of a change of somebody's identifier.
enum IdentifierOutcome: Sendable {
    /// - Parameter account: whose identifiers are as they were wanted; of a move, the one that has it now.
    case changed(Account)
    /// Another user has proved it, and keeps it.
    case taken
    /// Without it nobody could sign in to the account any more.
    case lastOne
    /// The user who is to have it has another one of its kind.
    case occupied
    /// The user has none of the kind.
    case missing
    case noSuchUser
}
