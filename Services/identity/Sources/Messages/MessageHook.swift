import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore

/// The team's own sender of mail and text messages, told over HTTP.
struct MessageHook: MessageSender {
    let httpClient: HTTPClient
    let url: URL
    /// Signs what is sent: only who has it can have written it.
    let secret: String

    /// Statuses by which the sender says that it will never take this message.
    private static let finalStatuses: Set<Int> = [410, 422]

    func send(_ message: OutgoingMessage) async throws {
        let isMail = message.to.kind == .email
        let body = Array(
            try JSON.encode(
                HookedMessage(
                    id: message.id, channel: message.to.kind.rawValue, to: message.to.value,
                    kind: message.kind.rawValue, language: message.language.code,
                    subject: isMail ? message.text.subject : nil,
                    text: isMail ? message.text.text : message.text.short, code: message.values[.code],
                    link: message.values[.link], expiresAt: message.expiresAt)))
        do {
            try await httpClient.post(
                body, toHook: url, HookSignature.header, HookSignature.value(of: body, at: Date.now, secret: secret),
                timeout: .seconds(8))
        } catch let refusal as HookRefused where Self.finalStatuses.contains(refusal.status) {
            throw MessageRefused(reason: "the hook says \(refusal.status)")
        }
    }
}
