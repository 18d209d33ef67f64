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
    /// The team's own sender; `nil`: Gatehouse writes the message.
    let hook: ResetHook?
    let messages: MessageDelivery
    /// Where the message's link leads; `nil`: the message holds the token alone.
    let link: URL?

    /// Binds the sealed identifier to its task.
    static func context(of task: UUID) -> String {
        "password reset \(task.uuidString)"
    }

    /// Each attempt makes a token of its own: one that was not handed over is of no use to anybody.
    /// - Parameter language: that of a message of Gatehouse's own.
    func deliver(_ entry: OutboxEntry, language: String?) async throws {
        guard let sealed = entry.sealed,
            let text = sealer.open(sealed, context: Self.context(of: entry.id)),
            let value = String(validating: text, as: UTF8.self), let identifier = try? Identifier(value),
            Date.now.timeIntervalSince(entry.createdAt) < ResetToken.lifetime
        else { return }
        let holder = try await passwords.account(identifiedBy: identifier, deadline: .now + .seconds(5))?.account.id
        guard let holder else { return }
        if case .email(let address) = identifier {
            guard try await mail.mayReceiveMail(address, deadline: .now + .seconds(5)) else { return }
        }
        let number: PhoneNumber? = if hook == nil, case .phone(let number) = identifier { number } else { nil }
        try await limits.sendingReset(to: number) {
            let token = ResetToken()
            let expiresAt = Date.now.addingTimeInterval(ResetToken.lifetime)
            guard try await resets.start(of: identifier, token: token, expiresAt: expiresAt) != nil else {
                return false
            }
            // No name and no other text by the user: whoever registers somebody's address could write to them in the
            // team's name.
            if let hook {
                try await hook.send(
                    PasswordResetMessage(
                        channel: identifier.kind.rawValue, to: identifier.value, token: token.text,
                        expiresAt: expiresAt))
            } else {
                let place = link.map { "\($0.absoluteString)#\(token.text)" } ?? token.text
                let envelope = MessageEnvelope(
                    .passwordReset, to: identifier, language: language.flatMap(MessageLanguage.init) ?? .english,
                    values: [.link: place], expiresAt: expiresAt)
                try await messages.send(envelope, to: identifier, of: holder, as: entry.id)
            }
            return true
        }
    }
}
