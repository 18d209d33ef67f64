import Bytes
import Contracts
import Crypto
import Foundation

/// Something for which another service or Apple has to be called.
enum OutboxTask: Codable, Sendable, Equatable {
    /// tokens is told what the user is like now.
    case snapshot
    /// tokens ends the user's sessions, except one, and except those of sign-ins that were proved by credentials of the
    /// version `below` or a newer one.
    case revokeSessions(reason: RevocationReason, except: UUID?, below: Int64)
    /// tokens ends one session of the user's, by an operator's word.
    case endSession(session: UUID)
    /// tokens ends a session that no client was given, if there is one.
    case revokeUnused(session: UUID)
    /// Apple exchanges an authorization code for the refresh token of the Apple account that it came with.
    case exchangeCode(subject: String)
    /// A message is sent that lies sealed beside the task.
    case message(channel: Identifier.Kind)
    /// Whoever has asked for a new password is sent what sets one.
    /// - Parameters:
    ///   - channel: where the message goes; `nil` in tasks of older versions.
    ///   - language: that of the message, where Gatehouse writes it.
    ///   - isAskerKnown: whether a known device or network has asked; `nil` in tasks of older versions.
    case passwordReset(channel: Identifier.Kind?, language: String?, isAskerKnown: Bool? = nil)
    /// The user is told that somebody else has proved one of their identifiers.
    /// - Parameters:
    ///   - channel: the kind of the other one, to which the message goes.
    ///   - language: what the client that proved it has asked for.
    case identifierLost(channel: Identifier.Kind, language: String?)
    /// Everybody is told that the user is gone, step by step.
    case deletion(DeletionStep)

    /// The name by which statements find tasks like this one.
    var kind: String {
        switch self {
        case .snapshot: "snapshot"
        case .revokeSessions: "revoke_sessions"
        case .endSession: "end_session"
        case .revokeUnused: "take_back"
        case .exchangeCode: "exchange_code"
        case .message: "message"
        case .passwordReset: "password_reset"
        case .identifierLost: "identifier_lost"
        case .deletion: "deletion"
        }
    }
}

/// Whom a task of the outbox is for. Each destination has a line of its own, so that one that is slow or away holds up
/// no other.
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

/// When a task that failed is tried again.
enum OutboxSchedule {
    /// Seconds until the next attempt: doubling from half a second to five minutes, and spread, so that tasks that
    /// failed together are not tried again together.
    /// - Parameters:
    ///   - attempts: how many have been made.
    ///   - spread: from 0 to 1, at random.
    static func delay(after attempts: Int, spread: Double) -> Double {
        let delay = min(0.5 * Double(1 << min(max(attempts - 1, 0), 12)), 300)
        return delay * (0.75 + 0.5 * spread)
    }
}

/// The steps of a deletion after the account's rows are gone from identity's own database, in their order.
///
/// Each step may be done twice, so that a crash between doing one and noting it does no harm. Sessions are revoked a
/// second time, because a sign-in that was cut off between making its session and taking it back leaves one behind.
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

    /// Whether the step needs the user's id. From the first that does not on, the task does not hold it any more.
    var needsUser: Bool {
        self != .revokeAtApple
    }
}

/// By which an address of the team's own knows that what was posted to it is from Gatehouse, and when it was sent: what
/// was overheard is no good much later.
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
