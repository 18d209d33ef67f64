import Foundation
import Synchronization

/// The request of `POST /simulator/apns-answer`: the response to valid pushes from now on.
struct APNsAnswerRequest: Codable, Sendable {
    /// The device token or channel that the response is for. Absent: the default for all other tokens.
    var token: String?
    var status: Int
    /// Apple's reason: `BadDeviceToken`, `Unregistered`, `TooManyRequests` …
    var reason: String?
    /// For 410: when the token became invalid, in milliseconds since 1970.
    var timestamp: Int?
    /// `Retry-After`, seconds.
    var retryAfter: Int?
    /// Seconds to wait before answering.
    var delay: Double?
    /// The number of pushes; absent: unlimited.
    var times: Int?

    var answer: APNsAnswer {
        APNsAnswer(
            status: status, body: reason.map { APNsAnswer.Body(reason: $0, timestamp: timestamp) },
            retryAfter: retryAfter, delay: delay ?? 0)
    }
}

/// A response of APNs.
struct APNsAnswer: Sendable, Equatable {
    struct Body: Codable, Sendable, Equatable {
        var reason: String
        var timestamp: Int?
    }

    /// A response in place of a result.
    struct Refusal: Error, Equatable {
        var answer: APNsAnswer
    }

    var status: Int
    var body: Body?
    /// Seconds.
    var retryAfter: Int?
    /// Seconds.
    var delay: Double = 0
    /// `apns-channel-id` of a new channel.
    var channelID: String?
    /// The body of a result.
    var json: [UInt8]?

    static let ok = APNsAnswer(status: 200)

    static func refused(_ status: Int, _ reason: String) -> APNsAnswer {
        APNsAnswer(status: status, body: Body(reason: reason))
    }
}

/// What a test has set for pushes, per device token or for all others.
final class PlannedPushes<Effect: Sendable>: Sendable {
    private struct Planned {
        var effect: Effect
        var remaining: Int?
    }

    private static var everyToken: String { "" }
    private let planned = Mutex<[String: Planned]>([:])

    /// - Parameters:
    ///   - token: nil for all tokens without a plan of their own.
    ///   - times: the number of pushes; nil: unlimited.
    func set(_ effect: Effect, for token: String?, times: Int?) {
        planned.withLock { $0[token ?? Self.everyToken] = Planned(effect: effect, remaining: times) }
    }

    /// - Parameter token: nil for every plan.
    func remove(for token: String?) {
        planned.withLock { planned in
            if let token { planned[token] = nil } else { planned = [:] }
        }
    }

    /// Returns what is planned for a push to `token`, and counts it.
    ///
    /// - Parameters:
    ///   - token: nil for what concerns a connection, not a push.
    ///   - isWanted: leaves a plan alone, and uncounted, if false.
    func take(for token: String?, where isWanted: (Effect) -> Bool = { _ in true }) -> Effect? {
        planned.withLock { planned in
            guard !planned.isEmpty else { return nil }
            let own = token.flatMap { planned[$0] == nil ? nil : $0 }
            let key = own ?? Self.everyToken
            guard let found = planned[key], isWanted(found.effect) else { return nil }
            if let remaining = found.remaining {
                planned[key] = remaining > 1 ? Planned(effect: found.effect, remaining: remaining - 1) : nil
            }
            return found.effect
        }
    }
}
