import Contracts
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
    case takeBack(session: UUID)
    /// Apple exchanges an authorization code for the refresh token of the Apple account that it came with.
    case exchangeCode(subject: String)
    /// A message is sent that lies sealed beside the task.
    case message(channel: Identifier.Kind)
    /// Whoever has asked for a new password is sent what sets one.
    /// - Parameters:
    ///   - channel: where the message goes; `nil` in tasks of older versions.
    ///   - language: that of the message, where Gatehouse writes it.
    case passwordReset(channel: Identifier.Kind?, language: String?)
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
        case .takeBack: "take_back"
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
        case .snapshot, .revokeSessions, .endSession, .takeBack: .tokens
        case .exchangeCode: .apple
        case .message(let channel), .identifierLost(let channel, _): channel == .phone ? .phone : .mail
        case .passwordReset(let channel, _): channel == .phone ? .phone : .mail
        case .deletion(let step): step.destination
        }
    }
}
