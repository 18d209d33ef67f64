import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore
import NIOHTTP1

/// Posts events to a webhook.
struct WebhookSender: Sendable {
    let httpClient: HTTPClient

    struct Refused: Error {
        var status: Int
    }

    /// Longer than a receiver should need, and shorter than a claim lasts.
    static let timeout = Duration.seconds(10)

    func send(_ page: AccountEventPage, to webhook: Webhook) async throws {
        let body = Array(try JSON.encode(page))
        var request = HTTPClientRequest(url: webhook.url.absoluteString)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: "Gatehouse-Signature", value: webhook.signature(of: body, at: .now))
        request.body = .bytes(body)
        // Only the status counts. A body is not read.
        let response = try await httpClient.execute(request, timeout: .seconds(Int64(Self.timeout.components.seconds)))
        guard (200..<300).contains(response.status.code) else { throw Refused(status: Int(response.status.code)) }
    }
}
