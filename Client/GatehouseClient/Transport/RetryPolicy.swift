import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How often and when a failed request is retried automatically.
public struct GatehouseRetryPolicy: Sendable, Equatable {
    /// The number of attempts, including the first.
    public var attempts = 3
    /// The longest pause. The n-th pause is drawn uniformly between 0 and the smaller of this value and 200 ms · 2ⁿ
    /// ("full jitter").
    public var longestPause: Duration = .seconds(2)
    /// The time limit of an attempt of an idempotent call, whose answer may be lost. The last attempt has the rest of
    /// the ``budget`` instead, so that a slow network gets its answer too. So has an attempt after which the budget
    /// leaves no time for another one. The limit does not apply to uploads and downloads of files.
    public var attemptLimit: Duration = .seconds(2)
    /// The time limit of a whole call: all attempts, the pauses between them and a refresh of the bearer. It does not
    /// apply to uploads and downloads of files, which the transport limits.
    public var budget: Duration = .seconds(30)

    public init() {}
}

extension GatehouseRetryPolicy {
    /// How an attempt ended.
    enum Outcome: Sendable, Equatable {
        case failed(URLError.Code)
        /// - `retryAfter`: the wait that the server requests.
        case answered(status: Int, retryAfter: Duration?)

        /// Whether the server may have acted on the request although the client has no answer that says so.
        var isUnanswered: Bool {
            switch self {
            case .failed(let code):
                ![
                    .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive,
                    .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .secureConnectionFailed, .badURL,
                    .unsupportedURL,
                ].contains(code)
            case .answered(let status, _): status >= 500
            }
        }
    }

    enum Decision: Sendable, Equatable {
        /// Wait for this time, then send the request again.
        case pause(Duration)
        case giveUp
    }

    /// The time limit of an attempt; `nil` if only the call's budget limits it.
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt; the first is 1.
    ///   - isIdempotent: whether the request is idempotent.
    ///   - left: the rest of the call's budget; `nil` if it has none.
    func limit(ofAttempt attempt: Int, isIdempotent: Bool, left: Duration?) -> Duration? {
        guard isIdempotent, attempt < attempts, let left, left > attemptLimit + ceiling(after: attempt) else {
            return nil
        }
        return attemptLimit
    }

    /// - Parameters:
    ///   - attempt: the number of the finished attempt; the first is 1.
    ///   - isIdempotent: whether the request is idempotent.
    ///   - random: drawn uniformly from 0..<1.
    ///   - left: the rest of the call's budget; `nil` if it has none.
    func decision(
        after attempt: Int, isIdempotent: Bool, outcome: Outcome, random: Double, left: Duration? = nil
    ) -> Decision {
        guard attempt < attempts, isIdempotent, Self.isTemporary(outcome),
            let pause = pause(after: attempt, outcome, random), left.map({ pause < $0 }) ?? true
        else { return .giveUp }
        return .pause(pause)
    }

    /// - Returns: `nil` if the server requests a longer pause than this policy allows.
    private func pause(after attempt: Int, _ outcome: Outcome, _ random: Double) -> Duration? {
        let ceiling = ceiling(after: attempt)
        guard case .answered(_, let requested?) = outcome else { return ceiling * random }
        // The app decides about a longer wait: the error contains it. A shorter one gets random extra time, so that
        // clients with the same `Retry-After` do not retry at the same moment.
        guard requested <= longestPause else { return nil }
        return requested + min(ceiling, longestPause - requested) * random
    }

    /// The longest random pause after an attempt.
    private func ceiling(after attempt: Int) -> Duration {
        min(longestPause, .milliseconds(200) * (1 << min(attempt, 16)))
    }

    /// Whether HTTP defines the method as idempotent (RFC 9110 §9.2.2).
    static func isIdempotent(method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].contains(method)
    }

    /// Whether the failure is likely to be temporary.
    private static func isTemporary(_ outcome: Outcome) -> Bool {
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

extension HTTPURLResponse {
    /// The value of `Retry-After`, in seconds or as a date by the server's clock (RFC 9110 §10.2.3).
    var retryAfter: Duration? {
        guard let text = value(forHTTPHeaderField: "Retry-After")?.trimmingCharacters(in: .whitespaces) else {
            return nil
        }
        if let seconds = Int32(text) { return seconds < 0 ? nil : .seconds(seconds) }
        // The device's clock may be wrong, so compare the date with the server's `Date`.
        guard let moment = HTTPDate.read(text), let now = value(forHTTPHeaderField: "Date").flatMap(HTTPDate.read)
        else { return nil }
        return .seconds(max(0, moment.timeIntervalSince(now)))
    }
}

/// Dates in HTTP's format: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// - Returns: `nil` also for the two obsolete formats, which servers no longer send.
    static func read(_ text: String) -> Date? {
        let parts = text.split(separator: " ")
        guard text.utf8.count == 29, parts.count == 6, parts[5] == "GMT",
            let day = number(parts[1], digits: 2), let month = months.firstIndex(of: String(parts[2])),
            let year = number(parts[3], digits: 4)
        else { return nil }
        let time = parts[4].split(separator: ":").map { number($0, digits: 2) }
        guard time.count == 3, let hour = time[0], let minute = time[1], let second = time[2],
            (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = daysSince1970(year: year, month: month + 1, day: day)
        return Date(timeIntervalSince1970: Double(((days * 24 + hour) * 60 + minute) * 60 + second))
    }

    private static func number(_ text: Substring, digits: Int) -> Int? {
        let isDigits = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return text.utf8.count == digits && isDigits ? Int(text) : nil
    }

    /// Days in the Gregorian calendar. Years begin in March, so that the leap day is the last day.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let marchYear = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        return marchYear * 365 + leapDays + (monthFromMarch * 153 + 2) / 5 + day - 1 - 719_468
    }
}
