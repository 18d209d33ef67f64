import Foundation

/// What the rules of rotation know of a session: its row, which is the whole family of its tokens.
struct SessionState: Sendable, Equatable {
    /// Of the current token.
    var generation: Int32
    var currentHash: [UInt8]
    /// `nil` until the first rotation.
    var previousHash: [UInt8]?
    /// When the current token was made.
    var rotatedAt: Date
    /// Generations whose predecessor was replayed late, in an unbroken run up to this one.
    var lateReplays: Int
    /// Whether this generation's predecessor was replayed late, and so is in the count.
    var lateReplayed: Bool
    /// The earlier of idle and absolute expiry.
    var expiresAt: Date
    var absoluteExpiresAt: Date
}

extension SessionState {
    /// The session after its current token was rotated into one with `successorHash`.
    func rotated(to successorHash: [UInt8], at now: Date, idleLifetime: TimeInterval) -> SessionState {
        SessionState(
            generation: generation + 1,
            currentHash: successorHash,
            previousHash: currentHash,
            rotatedAt: now,
            // A generation that nobody replayed late breaks the run.
            lateReplays: lateReplayed ? lateReplays : 0,
            lateReplayed: false,
            expiresAt: min(now.addingTimeInterval(idleLifetime), absoluteExpiresAt),
            absoluteExpiresAt: absoluteExpiresAt)
    }

    /// The session after a late replay of the current token's predecessor was counted.
    func countingLateReplay() -> SessionState {
        var next = self
        next.lateReplays += 1
        next.lateReplayed = true
        return next
    }
}
