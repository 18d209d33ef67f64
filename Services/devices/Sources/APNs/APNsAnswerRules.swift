import Foundation

/// The consequences of APNs' answers for a connection and its pool (Apple, “Handling notification responses from
/// APNs”). The caller of the pool decides about the push.
enum APNsAnswerRules {
    enum Action: Sendable, Equatable {
        /// The answer is the push's outcome.
        case deliver
        /// Renew the provider token, then repeat.
        case renewToken
        /// Open no more streams on the connection, and repeat on another one.
        case replaceConnection
        /// Renew no token on the connection for a time, then repeat.
        case keepToken
        /// The answer is the push's outcome, and the pool stops for this reason.
        case stop(String)
    }

    /// Why a pool stops when too many device tokens are refused.
    static let tokenRefusals = "refused device tokens"
    /// Apple's reason for a provider token that is too old. It stops a pool if a new token is refused, too.
    static let expiredToken = "ExpiredProviderToken"

    /// The server goes away, as after GOAWAY.
    static let shutdown = "Shutdown"

    /// Reasons that concern the key, so that each further push would be refused, too.
    static let stopping: Set<String> = [
        "BadCertificate", "BadCertificateEnvironment", "BadEnvironmentKeyIdInToken", "InvalidProviderToken",
        "MissingProviderToken",
        "TopicDisallowed",
    ]

    private static let connectionReasons: Set<String> = ["IdleTimeout", "UnrelatedKeyIdInToken"]
    private static let keptToken = "TooManyProviderTokenUpdates"

    static func action(for answer: APNsAnswer, repeats: Repeats) -> Action {
        guard let reason = answer.reason else { return .deliver }
        switch reason {
        case expiredToken: return repeats.hasRenewedToken ? .stop(expiredToken) : .renewToken
        case _ where connectionReasons.contains(reason):
            return repeats.hasReplacedConnection ? .deliver : .replaceConnection
        case keptToken: return repeats.hasKeptToken ? .deliver : .keepToken
        case shutdown: return repeats.mayMove ? .replaceConnection : .deliver
        case _ where stopping.contains(reason): return .stop(reason)
        default: return .deliver
        }
    }

    /// Whether the push is not at fault, but the pool, which stops or changes its connection or token.
    static func concernsConnectionPool(_ reason: String) -> Bool {
        reason == expiredToken || connectionReasons.contains(reason) || reason == keptToken || stopping.contains(reason)
    }

    /// Reasons that depend on the device or the channel.
    private static let afterToken: Set<String> = ["DeviceTokenNotForTopic", "TooManyRequests", "ChannelNotRegistered"]

    /// Whether the answer shows that APNs has accepted the provider token. APNs may check a request's form before its
    /// token, so only answers count that depend on the device or the channel.
    static func verifiesToken(_ answer: APNsAnswer) -> Bool {
        switch answer.status {
        case 200, 201, 204, 410: true
        default: Self.afterToken.contains(answer.reason ?? "")
        }
    }

    static func isTokenRefusal(_ answer: APNsAnswer) -> Bool {
        answer.reason == "BadDeviceToken" || answer.reason == "DeviceTokenNotForTopic"
    }
}

/// How often one push was repeated, and why.
struct Repeats: Sendable, Equatable {
    private static let maximumMoves = 3

    var hasRenewedToken = false
    var hasReplacedConnection = false
    var hasKeptToken = false
    /// How often the push went to another connection because the server had not processed it.
    var moves = 0

    var mayMove: Bool { moves < Self.maximumMoves }
}

/// Whether a connection pool sends. It stops when APNs refuses its key, and tries one push after a time.
struct ConnectionPoolAdmission: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Decision: Sendable, Equatable {
        case send
        /// Send this push alone, and report its answer.
        case probe
        case refuse
    }

    /// The result of a probe for the pool.
    enum ProbeResult: Sendable, Equatable {
        case accepted
        case refused
        /// No answer came, or one that depends neither on the key nor on the device token.
        case unknown
    }

    private enum State: Sendable, Equatable {
        case running
        case stopped(reason: String, until: Instant)
        case probing(reason: String)
    }

    /// From a probe of unknown result until the next.
    static let retryAfterUnknown = Duration.seconds(10)

    private let limits: APNsLimits
    private var state = State.running

    init(limits: APNsLimits) { self.limits = limits }

    /// Why the pool sends nothing; `nil` while it does.
    var reason: String? {
        switch state {
        case .running: nil
        case .stopped(let reason, _), .probing(let reason): reason
        }
    }

    /// - Parameter isToProvenDevice: whether Apple has accepted the device token before. Any user can register an
    ///   invented one, whose refusal says nothing about the pool, so it becomes a probe later.
    mutating func admit(isToProvenDevice: Bool, now: Instant) -> Decision {
        switch state {
        case .running: return .send
        case .probing: return .refuse
        case .stopped(let reason, let until):
            let mustWait = reason == APNsAnswerRules.tokenRefusals && !isToProvenDevice
            guard until + (mustWait ? Self.retryAfterUnknown : .zero) <= now else { return .refuse }
            state = .probing(reason: reason)
            return .probe
        }
    }

    mutating func stop(reason: String, now: Instant) {
        let pause =
            reason == APNsAnswerRules.tokenRefusals ? limits.retryAfterTokenRefusals : limits.retryAfterRefusal
        state = .stopped(reason: reason, until: now + pause)
    }

    /// A probe ended. A refusal was reported with ``stop(reason:now:)`` if it has a reason of its own.
    mutating func probeEnded(_ result: ProbeResult, now: Instant) {
        guard case .probing(let reason) = state else { return }
        switch result {
        case .accepted: state = .running
        case .refused: stop(reason: reason, now: now)
        case .unknown: state = .stopped(reason: reason, until: now + Self.retryAfterUnknown)
        }
    }

    /// The result of a probe's answer for a pool that has stopped for `reason`.
    static func result(of answer: APNsAnswer, isToProvenDevice: Bool, stoppedFor reason: String) -> ProbeResult {
        if reason == APNsAnswerRules.tokenRefusals {
            if answer.status == 200 { return .accepted }
            return isToProvenDevice && APNsAnswerRules.isTokenRefusal(answer) ? .refused : .unknown
        }
        return APNsAnswerRules.verifiesToken(answer) ? .accepted : .unknown
    }
}

/// The share of device tokens, among those that Apple had accepted before, that Apple now refuses.
///
/// A high share means that the environment, the topics or the registrations are wrong, and not that each token is bad.
/// Tokens count, however many pushes each one gets. Of very many, a part that their hashes choose stands for all.
struct RefusalRate: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    /// Tokens that must have been answered before the share counts.
    static let minimumTokens = 1000
    static let maximumPercent = 5
    /// Tokens that are remembered at most.
    static let capacity = 8192
    private static let minutes = 10

    private struct Answer: Equatable {
        var minute: Int
        var isRefused: Bool
    }

    private var start: Instant?
    private var minute = 0
    /// The latest answer of each token, by a hash of the token.
    private var answers: [Int: Answer] = [:]
    private var refused = 0
    /// Tokens are remembered whose hash ends with so many zero bits: one of 2 to this power.
    private var level = 0

    /// Counts an answer of 200 or a refusal.
    ///
    /// - Parameter hash: of the token, evenly distributed.
    /// - Returns: whether too many tokens are refused.
    mutating func record(tokenHash hash: Int, isRefused: Bool, now: Instant) -> Bool {
        let start = start ?? now
        self.start = start
        let minute = Int((now - start) / .seconds(60))
        if minute != self.minute {
            keep { _, answer in answer.minute > minute - Self.minutes }
            if answers.isEmpty {
                level = 0
            } else if answers.count < Self.capacity / 4 {
                level = max(0, level - (minute - self.minute))
            }
            self.minute = minute
        }
        guard hash.trailingZeroBitCount >= level else { return false }
        let former = answers.updateValue(Answer(minute: minute, isRefused: isRefused), forKey: hash)
        refused += (isRefused ? 1 : 0) - (former?.isRefused == true ? 1 : 0)
        while answers.count > Self.capacity {
            level += 1
            let level = level
            keep { hash, _ in hash.trailingZeroBitCount >= level }
        }
        // Of very many tokens thousands are remembered: enough that chance refuses no pool.
        return isRefused && answers.count >= Self.minimumTokens
            && refused * 100 > answers.count * Self.maximumPercent
    }

    private mutating func keep(where condition: (Int, Answer) -> Bool) {
        answers = answers.filter { condition($0.key, $0.value) }
        refused = answers.values.count { $0.isRefused }
    }

    /// Tokens that are remembered.
    var count: Int { answers.count }

    mutating func reset() { self = RefusalRate() }
}

/// When a connection pool may try to connect again for a role.
struct ConnectBackoff: Sendable, Equatable {
    typealias Instant = ContinuousClock.Instant

    private let first: Duration
    private let longest: Duration
    private var failures = 0
    private var until: Instant?

    init(limits: APNsLimits) {
        first = limits.backoff.first
        longest = limits.backoff.longest
    }

    func mayConnect(now: Instant) -> Bool { until.map { $0 <= now } ?? true }

    /// A connection failed before it was of use.
    ///
    /// - Parameter random: from 0 up to 1.
    mutating func failed(now: Instant, random: Double) {
        let pause = min(longest, first * (1 << min(failures, 16)))
        failures += 1
        until = now + pause * (1 - random / 2)
    }

    /// A connection has answered a request.
    mutating func succeeded() {
        failures = 0
        until = nil
    }
}
