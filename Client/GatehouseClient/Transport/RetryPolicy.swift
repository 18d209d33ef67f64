/// How often and when a request that met trouble is sent again, by itself.
public struct RetryPolicy: Sendable, Equatable {
    /// The first one included.
    public var attempts = 3
    /// The longest pause. The n-th is drawn evenly between 0 and the smaller of this and 200 ms · 2ⁿ ("full jitter").
    public var longestPause: Duration = .seconds(2)

    public init() {}
}
