import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore

/// Posts events to a webhook.
struct WebhookSender: Sendable {
    let httpClient: HTTPClient

    /// Longer than a receiver should need, and shorter than a claim lasts.
    static let timeout = Duration.seconds(10)

    func send(_ page: AccountEventPage, to webhook: Webhook) async throws {
        let body = Array(try JSON.encode(page))
        try await httpClient.post(
            body, toHook: webhook.url, HookSignature.header,
            HookSignature.value(of: body, at: .now, secret: webhook.secret),
            timeout: .seconds(Int64(Self.timeout.components.seconds)))
    }
}
