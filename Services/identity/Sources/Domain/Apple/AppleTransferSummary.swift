/// What a run of a transfer's command has done.
public struct AppleTransferSummary: Sendable, Equatable, Encodable {
    /// Users about whom Apple was asked.
    public var asked = 0
    /// Before the transfer: users whose transfer identifier is kept now. After it: users who have their new one.
    public var done = 0
    /// Users whom Apple does not know, because they have withdrawn their consent.
    public var unknownToApple = 0
    /// Users whose new identifier has become another account's here, by a sign-in without the transfer identifier.
    public var taken = 0

    /// What became of one user.
    enum Outcome: Sendable, Equatable {
        case done, unknownToApple, taken
    }

    mutating func count(_ outcome: Outcome) {
        asked += 1
        switch outcome {
        case .done: done += 1
        case .unknownToApple: unknownToApple += 1
        case .taken: taken += 1
        }
    }
}
