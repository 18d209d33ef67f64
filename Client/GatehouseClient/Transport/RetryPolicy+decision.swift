import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension RetryPolicy {
    /// How an attempt ended.
    enum Outcome: Sendable, Equatable {
        case failed(URLError.Code)
        /// - `retryAfter`: how long the server asks to wait.
        case answered(status: Int, retryAfter: Duration?)
    }

    enum Decision: Sendable, Equatable {
        /// Wait for so long and send the request again.
        case pause(Duration)
        case giveUp
    }

    /// - Parameters:
    ///   - attempt: the number of the one that has ended; the first is 1.
    ///   - isRepeatable: whether the server does the same for one request as for two of its kind.
    ///   - random: evenly drawn from 0..<1.
    func decision(after attempt: Int, isRepeatable: Bool, outcome: Outcome, random: Double) -> Decision {
        guard attempt < attempts, isRepeatable, Self.mayPass(outcome) else { return .giveUp }
        let ceiling = min(longestPause, .milliseconds(200) * (1 << min(attempt, 16)))
        guard case .answered(_, let asked?) = outcome else { return .pause(ceiling * random) }
        // A longer wait is for the app to decide: the error says how long. Within it, those who were told the same
        // moment come back one after the other.
        guard asked <= longestPause else { return .giveUp }
        return .pause(asked + min(ceiling, longestPause - asked) * random)
    }

    /// Whether HTTP says of the method that repeating it changes nothing more (RFC 9110 §9.2.2).
    static func isRepeatable(method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].contains(method)
    }

    /// Whether the same request may well succeed a moment later.
    private static func mayPass(_ outcome: Outcome) -> Bool {
        switch outcome {
        case .failed(let code):
            [
                .timedOut, .networkConnectionLost, .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed,
                .resourceUnavailable, .badServerResponse,
            ].contains(code)
        case .answered(let status, _): [429, 502, 503, 504].contains(status)
        }
    }
}
