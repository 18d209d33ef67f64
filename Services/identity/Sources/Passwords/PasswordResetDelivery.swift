import Contracts
import Foundation
import Sealing

/// Sends tokens for setting a new password, as a task of the outbox.
struct PasswordResetDelivery: Sendable {
    let passwords: PasswordStore
    let resets: PasswordResetStore
    let mail: AppleMailStore
    let limits: AttemptLimits
    let sealer: Sealer
    /// `nil` where the team has named no sender: then nothing is sent.
    let hook: ResetHook?

    /// Binds the sealed identifier to its task.
    static func context(of task: UUID) -> String {
        "password reset \(task.uuidString)"
    }

    /// Each attempt makes a token of its own: one that was not handed over is of no use to anybody.
    func deliver(_ entry: OutboxEntry) async throws {
        guard let hook, let sealed = entry.sealed,
            let text = sealer.open(sealed, context: Self.context(of: entry.id)),
            let value = String(validating: text, as: UTF8.self), let identifier = try? Identifier(value),
            Date.now.timeIntervalSince(entry.createdAt) < ResetToken.lifetime
        else { return }
        guard try await passwords.account(identifiedBy: identifier, deadline: .now + .seconds(5)) != nil else {
            return
        }
        if case .email(let address) = identifier {
            guard try await mail.mayReceiveMail(address, deadline: .now + .seconds(5)) else { return }
        }
        try await limits.sending {
            let token = ResetToken()
            let expiresAt = Date.now.addingTimeInterval(ResetToken.lifetime)
            guard try await resets.start(of: identifier, token: token, expiresAt: expiresAt) != nil else {
                return false
            }
            // No name and no other text by the user: whoever registers somebody's address could write to them in the
            // team's name.
            try await hook.send(
                PasswordResetMessage(
                    channel: identifier.kind.rawValue, to: identifier.value, token: token.text, expiresAt: expiresAt))
            return true
        }
    }
}
