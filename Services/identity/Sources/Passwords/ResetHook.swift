import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore
import NIOHTTP1

/// The team's own sender of mail and messages.
struct ResetHook: Sendable {
    let httpClient: HTTPClient
    let url: URL
    /// Sent as `Authorization: Bearer`, by which the sender knows that the request is from Gatehouse.
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
        // Only the status counts. A body is not read.
        let response = try await httpClient.execute(request, timeout: .seconds(5))
        guard (200..<300).contains(response.status.code) else { throw Refused(status: Int(response.status.code)) }
    }
}
