import AsyncHTTPClient
import Bytes
import Contracts
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import ServiceKit

/// The team's own sender of mail and text messages, told over HTTP.
struct MessageHook: MessageSender {
    let httpClient: HTTPClient
    let url: URL
    /// Signs what is sent: only who has it can have written it.
    let secret: String

    /// Statuses by which the sender says that it will never take this message.
    private static let finalStatuses: Set<Int> = [410, 422]

    struct Unavailable: Error {
        var status: Int
    }

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
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(
            name: HookSignature.header, value: HookSignature.value(of: body, at: Date.now, secret: secret))
        request.body = .bytes(body)
        // Only the status counts.
        let answer = try await httpClient.exchange(request, upTo: 65_536, before: .after(.seconds(8)))
        if Self.finalStatuses.contains(answer.status) { throw MessageRefused(reason: "the hook says \(answer.status)") }
        guard (200..<300).contains(answer.status) else { throw Unavailable(status: answer.status) }
    }
}
