import Foundation

/// What to do with a refresh token: a pure function of the token, the session's row and PostgreSQL's clock.
struct RotationRules: Sendable, Equatable {
    enum Mode: String, Sendable, CaseIterable {
        case resilient
        /// A late replay is theft.
        case strict
    }

    /// For so long a predecessor is simply answered again. Seconds.
    var retryWindow: TimeInterval = 60
    /// For so long after a rotation an older token may be a request that slept somewhere. Seconds.
    var raceWindow: TimeInterval = 5
    /// How many generations in a row may have lost their response.
    var lateReplayLimit = 3
    var mode = Mode.resilient

    /// A token whose form is right and that is not forged.
    struct Presented: Sendable, Equatable {
        var generation: Int32
        var hash: [UInt8]
        /// `false` when the key it was made under is not known here: only its hash speaks for it.
        var isGenuine: Bool
        /// Seconds since the request came, as far as gateway and replica know. The windows look at when a token came,
        /// not at when somebody who was stopped or busy meanwhile got round to it.
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
            // Rotated, but into something else than we know: this chain is not the one in the database.
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

/// The answer of the rules.
enum RotationDecision: Sendable, Equatable {
    /// Replace the current token by a new one.
    case rotate
    /// Give the successor that was made at the rotation once more.
    case repeatSuccessor
    /// The same, after a late replay has been counted.
    case countLateReplay
    /// Two hold the session: end it.
    case revoke(Theft)
    /// Nothing is wrong with the token as far as one can know: the client shall ask again.
    case tryLater
    case refuse(Refusal)

    enum Theft: String, Sendable, CaseIterable {
        case olderToken
        case lateReplay
    }

    /// Told apart in metrics only: to the client they are all one.
    enum Refusal: String, Sendable, CaseIterable {
        case malformed
        case forged
        case unknownSession
        case expired
        /// Newer than the row, or another token of its generation: the database was restored from a copy.
        case forked
        /// Older, under a key that is not known here.
        case unproven
    }
}
