/// One attempt, of those that an allowance leaves to a key.
struct Attempt: Sendable {
    var allowance: AttemptAllowance
    var key: String
}

/// Keeps count of attempts.
protocol AttemptCounter: Sendable {
    /// Takes all of them, or none if there is no room for one.
    /// - Parameter cost: how often each counts, 1 or more.
    func take(_ attempts: [Attempt], cost: Int) async -> AttemptOutcome

    /// Puts back attempts that were taken and shall not count.
    /// - Parameters:
    ///   - cost: as it was taken.
    ///   - isShared: as in the outcome.
    func giveBack(_ attempts: [Attempt], cost: Int, isShared: Bool) async
}

enum AttemptOutcome: Sendable {
    /// - Parameter isShared: whether other replicas know of it.
    case taken(isShared: Bool)
    case refused(retryAfter: Duration)
}
