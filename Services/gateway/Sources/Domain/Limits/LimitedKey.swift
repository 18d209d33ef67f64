/// Whose requests a limit counts together.
protocol LimitedKey: Hashable, Sendable {
    /// Those who share a bucket where there is no room for one of each: who floods is best among his like.
    var neighbourhood: UInt64 { get }
}
