import Foundation

/// Decides what to do with a refresh token: a pure function of the token, the session's row and PostgreSQL's clock.
struct RotationRules: Sendable, Equatable {
    enum Mode: String, Sendable, CaseIterable {
        case resilient
        /// A late replay is theft.
        case strict
    }

    /// Seconds after a rotation for which the predecessor is answered again, as the retry of a client that lost the
    /// answer.
    var retryWindow: TimeInterval = 60
    /// Seconds after a rotation for which an older token is taken for a request that was delayed, and not for theft.
    var raceWindow: TimeInterval = 5
    /// How many generations in a row may have been replayed late, as by a client that lost each answer.
    var lateReplayLimit = 3
    var mode = Mode.resilient

    /// A well-formed token that is not forged.
    struct Presented: Sendable, Equatable {
        var generation: Int32
        var hash: [UInt8]
        /// Whether its HMAC was verified; `false` when this replica does not have the key.
        var isGenuine: Bool
        /// Seconds since the request came, as far as gateway and replica know. The windows are measured at that moment:
        /// a process that was stopped or busy in between must not make a request look late.
        var age: TimeInterval = 0
    }

    /// - Parameter session: `nil` when there is no such session, or none any more.
    func decide(on presented: Presented, of session: SessionState?, at now: Date) -> RotationDecision {
        guard let session else { return .refuse(.unknownSession) }
        guard now < session.expiresAt else { return .refuse(.expired) }
        let sinceRotation = now.timeIntervalSince(session.rotatedAt) - presented.age

        switch presented.generation {
        case session.generation:
            return presented.hash == session.currentHash ? .rotate : .refuse(.forked)

        case session.generation - 1:
            // The predecessor's generation with another hash: the client's chain of tokens is not the database's.
            guard presented.hash == session.previousHash else { return .refuse(.forked) }
            if sinceRotation <= retryWindow || session.lateReplayed && mode == .resilient { return .repeatSuccessor }
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

/// What is to be done with a refresh token.
enum RotationDecision: Sendable, Equatable {
    /// Replace the current token by a new one.
    case rotate
    /// Answer with the successor that was made at the rotation.
    case repeatSuccessor
    /// Count a late replay, then answer with that successor.
    case countLateReplay
    /// Two holders use the session: end it.
    case revoke(Theft)
    /// The token may be good; the client shall ask again.
    case tryLater
    case refuse(Refusal)

    enum Theft: String, Sendable, CaseIterable {
        case olderToken
        case lateReplay
    }

    /// Reasons that metrics tell apart; the client is told the same for all.
    enum Refusal: String, Sendable, CaseIterable {
        case malformed
        case forged
        case unknownSession
        case expired
        /// Newer than the row, or another token of its generation: the database lost rotations, as one restored from a
        /// backup has.
        case forked
        /// Older than the row's tokens, and made under an unknown key: nothing proves that it was ever issued.
        case unproven
    }
}

/// A session's row as the rules of rotation see it. One row stands for all tokens of the session.
struct SessionState: Sendable, Equatable {
    /// The current token's generation.
    var generation: Int32
    var currentHash: [UInt8]
    /// `nil` until the first rotation.
    var previousHash: [UInt8]?
    /// When the current token was made.
    var rotatedAt: Date
    /// How many generations in a row, up to this one, had their predecessor replayed late.
    var lateReplays: Int
    /// Whether this generation is one of them.
    var lateReplayed: Bool
    /// The earlier of idle and absolute expiry.
    var expiresAt: Date
    var absoluteExpiresAt: Date
}

/// Why a sign-in gets no session.
enum SessionRefusal: String, Error {
    /// The user was erased while the sign-in was under way.
    case userErased
    /// The user has signed out everywhere since the sign-in began.
    case signedOut
    /// Another session has the requested id.
    case idTaken
}
