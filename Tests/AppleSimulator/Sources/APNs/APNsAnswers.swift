import Foundation
import Synchronization

/// The request of `POST /simulator/apns-answer`: the response to pushes from now on.
struct APNsAnswerRequest: Codable, Sendable {
    /// The device token that the response is for. Absent: the default for all other tokens.
    var token: String?
    var status: Int
    /// Apple's reason: `BadDeviceToken`, `Unregistered`, `TooManyRequests` …
    var reason: String?
    /// For 410: when the token became invalid, in milliseconds since 1970.
    var timestamp: Int?
    /// Seconds to wait before answering.
    var delay: Double?
    /// The number of pushes; absent: unlimited.
    var times: Int?
}

/// A response of APNs.
struct APNsAnswer: Sendable, Equatable {
    struct Body: Codable, Sendable, Equatable {
        var reason: String
        var timestamp: Int?
    }

    var status: Int
    var body: Body?
    /// Seconds.
    var delay: Double = 0

    static let ok = APNsAnswer(status: 200)

    static func refused(_ status: Int, _ reason: String) -> APNsAnswer {
        APNsAnswer(status: status, body: Body(reason: reason))
    }
}

/// The responses that tests have set.
final class APNsAnswers: Sendable {
    private struct Planned {
        var answer: APNsAnswer
        var remaining: Int?
    }

    private static let everyToken = ""
    private let planned = Mutex<[String: Planned]>([:])

    func set(_ request: APNsAnswerRequest) {
        let answer = APNsAnswer(
            status: request.status,
            body: request.reason.map { APNsAnswer.Body(reason: $0, timestamp: request.timestamp) },
            delay: request.delay ?? 0)
        planned.withLock {
            $0[request.token ?? Self.everyToken] = Planned(answer: answer, remaining: request.times)
        }
    }

    /// Returns the response for a push to `token`, and counts it if the response is limited to a number of pushes.
    func take(for token: String) -> APNsAnswer {
        planned.withLock { planned in
            let key = planned[token] == nil ? Self.everyToken : token
            guard let found = planned[key] else { return .ok }
            if let remaining = found.remaining {
                planned[key] = remaining > 1 ? Planned(answer: found.answer, remaining: remaining - 1) : nil
            }
            return found.answer
        }
    }
}
