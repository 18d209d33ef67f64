/// One attempt, of those that an allowance leaves to a key.
struct Attempt: Sendable {
    var allowance: AttemptAllowance
    var key: String
}

/// Keeps count of attempts.
protocol AttemptCounter: Sendable {
    /// Takes all of them, or none if there is no room for one.
    func take(_ attempts: [Attempt]) async -> AttemptOutcome

    /// Puts back attempts that were taken and shall not count.
    /// - Parameter isShared: as in the outcome.
    func giveBack(_ attempts: [Attempt], isShared: Bool) async
}

enum AttemptOutcome: Sendable {
    /// - Parameter isShared: whether other replicas know of it.
    case taken(isShared: Bool)
    case refused(retryAfter: Duration)
}
