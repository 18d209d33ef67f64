public import Contracts
public import Hummingbird
import HummingbirdCore

extension GatehouseRequestContext {
    /// The longest that a long poll may wait, in seconds.
    public static let longestPoll = 30

    /// Until when a long poll waits that says `wait=SECONDS`: a little less than its caller does, so that the answer
    /// still reaches it.
    ///
    /// - Throws: `INVALID_REQUEST` where that is no number of seconds.
    public func longPollEnd(of request: Request) throws(Problem) -> ContinuousClock.Instant {
        var seconds = 0
        if let text = request.uri.queryParameters.get("wait") {
            guard let value = Int(text), value >= 0 else { throw Problem.invalid("wait", "Want whole seconds.") }
            seconds = min(value, Self.longestPoll)
        }
        return deadline.capped(at: .seconds(seconds)).instant - .milliseconds(100)
    }
}
