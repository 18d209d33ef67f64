import Foundation

@testable import TokensService

/// What the statements of `SessionStore` make of a session's row: for tests that take more steps than a database could.
/// `SessionModelTests` holds the one against the other.
extension RotationState {
    /// The session after its current token was rotated into one with `successorHash`.
    func rotated(to successorHash: [UInt8], at now: Date, idleLifetime: TimeInterval) -> RotationState {
        RotationState(
            generation: generation + 1,
            currentHash: successorHash,
            previousHash: currentHash,
            rotatedAt: now,
            // A generation that no client replayed late breaks the run.
            lateReplays: lateReplayed ? lateReplays : 0,
            lateReplayed: false,
            expiresAt: min(now.addingTimeInterval(idleLifetime), absoluteExpiresAt),
            absoluteExpiresAt: absoluteExpiresAt)
    }

    /// The session after a late replay of the current token's predecessor was counted.
    func countingLateReplay() -> RotationState {
        var next = self
        next.lateReplays += 1
        next.lateReplayed = true
        return next
    }
}
