/// The pauses after failures in a row: each twice as long as the one before, up to a maximum, and shortened by up to
/// half at random, so that replicas that failed together do not retry together.
public struct Backoff: Sendable, Equatable {
    /// The pause after the first failure.
    public var base: Duration
    /// The longest pause.
    public var maximum: Duration

    public init(base: Duration, maximum: Duration) {
        (self.base, self.maximum) = (base, maximum)
    }

    /// The pause after `failures` failed attempts in a row.
    ///
    /// - Parameter random: 0 … 1: 0 selects half of the full pause, 1 selects the full pause.
    public func delay(afterFailures failures: Int, random: Double = .random(in: 0...1)) -> Duration {
        let doublings = min(max(failures - 1, 0), 20)
        return min(base * (1 << doublings), maximum) * (0.5 + random / 2)
    }
}
