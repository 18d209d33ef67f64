import Contracts
import Foundation

/// Something that another service or Apple is still to be told.
enum OutboxTask: Codable, Sendable, Equatable {
    /// tokens: what the user is like now.
    case snapshot
    /// tokens: the user's sessions end, but one and those that were proved against credentials of the version or newer.
    case revokeSessions(reason: RevocationReason, except: UUID?, below: Int64)
    /// tokens: a session that was made for nothing, if it was made.
    case takeBack(session: UUID)
    /// Apple: a code becomes the refresh token of the Apple account that it came with.
    case exchangeCode(subject: String)
    /// The team's mail sender: somebody has asked for a new password.
    case passwordReset
    /// Everybody: the user is gone.
    case deletion(DeletionStep)

    /// What the entry is found by.
    var kind: String {
        switch self {
        case .snapshot: "snapshot"
        case .revokeSessions: "revoke_sessions"
        case .takeBack: "take_back"
        case .exchangeCode: "exchange_code"
        case .passwordReset: "password_reset"
        case .deletion: "deletion"
        }
    }
}

/// Whom a task of the outbox is for. Tasks wait in line for those alone who are told the same way, so that whoever is
/// slow or away holds up nobody else.
enum OutboxDestination: String, Sendable, CaseIterable {
    case tokens
    case devices
    case apple
    case mail
}

extension OutboxTask {
    var destination: OutboxDestination {
        switch self {
        case .snapshot, .revokeSessions, .takeBack: .tokens
        case .exchangeCode: .apple
        case .passwordReset: .mail
        case .deletion(let step): step.destination
        }
    }
}

/// When a task that failed is tried again.
enum OutboxSchedule {
    /// Seconds until the next attempt: doubling from half a second to five minutes, and spread, so that what failed
    /// together does not come back together.
    /// - Parameters:
    ///   - attempts: how many have been made.
    ///   - spread: from 0 to 1, at random.
    static func delay(after attempts: Int, spread: Double) -> Double {
        let delay = min(0.5 * Double(1 << min(max(attempts - 1, 0), 12)), 300)
        return delay * (0.75 + 0.5 * spread)
    }
}
