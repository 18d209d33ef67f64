import Foundation

extension OutboxTask {
    /// Sends a token for a new password to the user who asked for one.
    /// - Parameters:
    ///   - channel: the kind of identifier that the message goes to; `nil` in tasks of older versions.
    ///   - language: the message's language, where Gatehouse writes the message.
    ///   - isAskerKnown: whether a known device or network has asked; `nil` in tasks of older versions.
    static func passwordReset(
        channel: Identifier.Kind?, language: String?, isAskerKnown: Bool? = nil
    ) -> OutboxTask {
        OutboxTask(
            PasswordResetTask(channel: channel, language: language, isAskerKnown: isAskerKnown),
            for: OutboxDestination(channel))
    }
}

struct PasswordResetTask: OutboxPayload {
    static let kind = "password_reset"
    static let key = "passwordReset"

    var channel: Identifier.Kind?
    var language: String?
    var isAskerKnown: Bool?
}

extension PasswordResetDelivery {
    var handlers: [OutboxHandler] {
        [
            OutboxHandler(PasswordResetTask.self, for: .mail, .phone) { task, entry in
                try await deliver(entry, language: task.language, isAskerKnown: task.isAskerKnown ?? false)
                return .done
            }
        ]
    }
}
