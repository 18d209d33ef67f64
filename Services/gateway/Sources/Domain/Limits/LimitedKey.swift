/// Whose requests a limit counts together.
protocol LimitedKey: Hashable, Sendable {
    /// Keys of one neighbourhood share a bucket when there is no room for one each. A flood comes from one neighbourhood
    /// mostly, and then uses up its own bucket.
    var neighbourhood: UInt64 { get }
}
