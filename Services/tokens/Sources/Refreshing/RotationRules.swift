import Foundation

/// Decides what to do with a refresh token: a pure function of the token, the session's row and PostgreSQL's clock.
struct RotationRules: Sendable, Equatable {
    enum Mode: String, Sendable, CaseIterable {
        case resilient
        /// A late replay counts as theft.
        case strict
    }

    /// Seconds after a rotation during which the predecessor counts as the retry of a client that lost the response,
    /// and is answered again.
    var retryWindow: TimeInterval = 60
    /// Seconds after a rotation during which an older token counts as a delayed request, not as theft.
    var raceWindow: TimeInterval = 5
    /// How many consecutive generations may be replayed late, as by a client that lost each response.
    var lateReplayLimit = 3
    var mode = Mode.resilient

    /// A well-formed token that is not forged.
    struct Presented: Sendable, Equatable {
        var generation: Int32
        var hash: [UInt8]
        /// Whether its HMAC was verified; `false` when this replica does not have the key.
        var isGenuine: Bool
        /// Seconds since the request arrived, as measured by the gateway and this replica. The windows apply to the
        /// time of arrival, because a request is not late if a process was stopped or busy since then.
        var age: TimeInterval = 0
    }

    func decide(on presented: Presented, of session: RotationState, at now: Date) -> RotationDecision {
        guard now < session.expiresAt else { return .refuse(.expired) }
        let sinceRotation = now.timeIntervalSince(session.rotatedAt) - presented.age

        switch presented.generation {
        case session.generation:
            return presented.hash == session.currentHash ? .rotate : .refuse(.forked)

        case session.generation - 1:
            // The predecessor's generation with another hash: the client's chain of tokens differs from the database's.
            guard presented.hash == session.previousHash else { return .refuse(.forked) }
            if sinceRotation <= retryWindow || (session.lateReplayed && mode == .resilient) { return .repeatSuccessor }
            if mode == .strict { return .revoke(.lateReplay) }
            return session.lateReplays < lateReplayLimit ? .countLateReplay : .revoke(.lateReplay)

        case ..<session.generation:
            if sinceRotation < raceWindow { return .tryLater }
            return presented.isGenuine ? .revoke(.olderToken) : .refuse(.unproven)

        default:
            return .refuse(.forked)
        }
    }
}

/// The action for a refresh token.
enum RotationDecision: Sendable, Equatable {
    /// Replace the current token by a new one.
    case rotate
    /// Answer with the successor that the rotation minted.
    case repeatSuccessor
    /// Count a late replay, then answer with that successor.
    case countLateReplay
    /// Two holders use the session: revoke it.
    case revoke(Theft)
    /// The token may be valid. The client should retry.
    case tryLater
    case refuse(Refusal)

    enum Theft: String, Sendable, CaseIterable {
        case olderToken
        case lateReplay
    }

    /// Reasons that metrics distinguish. The client gets the same error for all.
    enum Refusal: String, Sendable, CaseIterable {
        case malformed
        case forged
        case unknownSession
        case expired
        /// Newer than the row, or another token of its generation: the database lost rotations, for example because it
        /// was restored from a backup.
        case forked
        /// Older than the row's tokens, and minted under an unknown key: the service cannot verify that it issued the
        /// token.
        case unproven
    }
}

/// The part of a session's row that the rules of rotation use. One row represents all tokens of the session.
struct RotationState: Sendable, Equatable {
    /// The current token's generation.
    var generation: Int32
    var currentHash: [UInt8]
    /// `nil` until the first rotation.
    var previousHash: [UInt8]?
    /// When the current token was minted.
    var rotatedAt: Date
    /// The number of consecutive generations, up to this one, whose predecessor was presented after the retry window.
    var lateReplays: Int
    /// Whether this generation is one of them.
    var lateReplayed: Bool
    /// The earlier of idle and absolute expiry.
    var expiresAt: Date
    /// Not used by the rules; the tests' model of a rotation needs it.
    var absoluteExpiresAt: Date
}
