import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore
import NIOHTTP1

/// The team's own sender of mail and messages.
struct ResetHook: Sendable {
    let httpClient: HTTPClient
    let url: URL
    /// Shown as `Authorization: Bearer`, so that the sender knows whom it is working for.
    let secret: String

    struct Refused: Error {
        var status: Int
    }

    func send(_ message: PasswordResetMessage) async throws {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: "Authorization", value: "Bearer \(secret)")
        request.body = .bytes(Array(try JSON.encode(message)))
        // Its status is all that is asked: who sends more is not listened to.
        let response = try await httpClient.execute(request, timeout: .seconds(5))
        guard (200..<300).contains(response.status.code) else { throw Refused(status: Int(response.status.code)) }
    }
}
