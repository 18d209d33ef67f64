import Bytes
import Contracts
import Crypto
import Foundation

/// A task that calls another service or Apple.
enum OutboxTask: Codable, Sendable, Equatable {
    /// Sends tokens the user's current snapshot.
    case snapshot
    /// tokens revokes the user's sessions, except one, and except those whose sign-in was verified against credentials
    /// of the version `below` or a newer one.
    case revokeSessions(reason: RevocationReason, except: UUID?, below: Int64)
    /// tokens revokes one session of the user, on behalf of an operator.
    case endSession(session: UUID)
    /// tokens revokes a session that was issued to no client, if it exists. Rows and logs call it `take_back`.
    case revokeUnused(session: UUID)
    /// Apple exchanges an authorization code for the refresh token of the Apple account that it came with.
    case exchangeCode(subject: String)
    /// Sends the message that is sealed in the task's row.
    case message(channel: Identifier.Kind)
    /// Sends a token for a new password to the user who asked for one.
    /// - Parameters:
    ///   - channel: the kind of identifier that the message goes to; `nil` in tasks of older versions.
    ///   - language: the message's language, where Gatehouse writes the message.
    ///   - isAskerKnown: whether a known device or network has asked; `nil` in tasks of older versions.
    case passwordReset(channel: Identifier.Kind?, language: String?, isAskerKnown: Bool? = nil)
    /// Notifies the user that another user has verified one of their identifiers.
    /// - Parameters:
    ///   - channel: the kind of the other identifier, to which the message goes.
    ///   - language: the language that the verifying user's client asked for.
    case identifierLost(channel: Identifier.Kind, language: String?)
    /// Notifies the other services and Apple of the user's deletion, step by step.
    case deletion(DeletionStep)

    /// The name by which statements find tasks of this kind.
    var kind: String {
        switch self {
        case .snapshot: "snapshot"
        case .revokeSessions: "revoke_sessions"
        case .endSession: "end_session"
        // The former name, which stored rows use.
        case .revokeUnused: "take_back"
        case .exchangeCode: "exchange_code"
        case .message: "message"
        case .passwordReset: "password_reset"
        case .identifierLost: "identifier_lost"
        case .deletion: "deletion"
        }
    }
}

/// The receiver of an outbox task. Each destination has its own queue, so that a slow or unavailable destination does
/// not delay the others.
enum OutboxDestination: String, Sendable, CaseIterable {
    case tokens
    case devices
    case apple
    case mail
    /// Text messages.
    case phone
}

extension OutboxTask {
    var destination: OutboxDestination {
        switch self {
        case .snapshot, .revokeSessions, .endSession, .revokeUnused: .tokens
        case .exchangeCode: .apple
        case .message(let channel), .identifierLost(let channel, _): channel == .phone ? .phone : .mail
        case .passwordReset(let channel, _, _): channel == .phone ? .phone : .mail
        case .deletion(let step): step.destination
        }
    }
}

/// When a failed task is retried, and the outbox is read.
enum OutboxSchedule {
    /// Seconds until the task is retried. The delay doubles from half a second to five minutes, and has jitter, so that
    /// tasks that failed together are not retried together.
    /// - Parameters:
    ///   - deliveries: how often the task's delivery was begun.
    ///   - spread: from 0 to 1, at random.
    static func delay(after deliveries: Int, spread: Double) -> Double {
        let delay = min(0.5 * Double(1 << min(max(deliveries - 1, 0), 12)), 300)
        return delay * (0.75 + 0.5 * spread)
    }

    /// How often the outbox is read before a task is due: for tasks of a process that died before it woke up its worker.
    static let rest = Duration.seconds(3)
    /// How often the outbox is read while a task is due: for that of a queue that could not be read.
    static let retry = Duration.seconds(1)

    /// How long until the outbox is read again without a wake-up.
    /// - Parameter wait: how long until the first task is due; `nil` where there is no task.
    static func pause(before wait: Duration?) -> Duration {
        wait == .zero ? retry : min(wait ?? rest, rest)
    }
}

/// The places of one destination's tasks that are carried out concurrently.
struct OutboxPlaces: Sendable {
    static let limit = 16

    private var taken = 0
    /// Whether more tasks may be due than were claimed.
    private var hasMore = false

    /// The number of free places. Where there is none, ``release()`` says when to claim again.
    mutating func findFree() -> Int {
        let free = Self.limit - taken
        hasMore = free == 0
        return free
    }

    /// - Parameter limit: the most tasks that were asked for.
    mutating func take(_ count: Int, of limit: Int) {
        taken += count
        if count == limit { hasMore = true }
    }

    /// A task has ended.
    /// - Returns: whether to claim more tasks now.
    mutating func release() -> Bool {
        taken -= 1
        defer { hasMore = false }
        return hasMore
    }
}

/// The steps of a deletion after the account's rows are gone from this service's database, in their order.
///
/// Each step is idempotent, so a crash between performing and recording it is harmless. Sessions are revoked a second
/// time: a sign-in that was interrupted between creating its session and revoking it leaves one behind.
enum DeletionStep: String, Codable, Sendable, CaseIterable {
    case revokeSessions
    case eraseDevices
    case sweepSessions
    case revokeAtApple

    var next: DeletionStep? {
        let all = Self.allCases
        let index = all.firstIndex(of: self)! + 1
        return index < all.count ? all[index] : nil
    }

    var destination: OutboxDestination {
        switch self {
        case .revokeSessions, .sweepSessions: .tokens
        case .eraseDevices: .devices
        case .revokeAtApple: .apple
        }
    }

    /// Whether the step needs the user's id. After the last step that does, the task no longer contains the id.
    var needsUser: Bool {
        self != .revokeAtApple
    }
}

/// The signature with which a team's own endpoint verifies that a request is from Gatehouse, and when it was sent. An
/// attacker cannot replay an intercepted request much later.
enum HookSignature {
    static let header = "Gatehouse-Signature"

    /// `t=SECONDS,v1=HEX`: the HMAC-SHA-256 of the seconds, a dot and the body.
    static func value(of body: [UInt8], at time: Date, secret: String) -> String {
        let seconds = Int64(time.timeIntervalSince1970)
        var signed = Data("\(seconds).".utf8)
        signed.append(contentsOf: body)
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: Data(secret.utf8)))
        return "t=\(seconds),v1=\(Hexadecimal.string(Array(code)))"
    }
}
