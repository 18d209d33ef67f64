import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore

/// The team's own sender of mail and messages.
struct ResetHook: Sendable {
    let httpClient: HTTPClient
    let url: URL
    /// Sent as `Authorization: Bearer`, by which the sender knows that the request is from Gatehouse.
    let secret: String

    func send(_ message: PasswordResetMessage) async throws {
        try await httpClient.post(
            Array(JSON.encode(message)), toHook: url, "Authorization", "Bearer \(secret)", timeout: .seconds(5))
    }
}
