import Foundation
import GatehouseServiceContracts
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import TestKit

/// Stands in for the team's sender of mail, which identity calls for forgotten passwords. It keeps the mails.
final class MailSender: Sendable {
    /// What identity shows.
    let secret = "dev-\(UUID().uuidString)"
    private let messages = Mutex<[PasswordResetMessage]>([])

    /// Runs `body` with a sender that listens at `url`.
    static func run(_ body: (MailSender, _ url: URL) async throws -> Void) async throws {
        let sender = MailSender()
        let router = Router()
        router.post("password-reset") { request, _ in
            guard request.headers[.authorization] == "Bearer \(sender.secret)" else { throw HTTPError(.forbidden) }
            try sender.take(try await request.body.collect(upTo: 1 << 16))
            return Response(status: .ok)
        }
        try await withHTTPServer(router) { url in try await body(sender, url.appending(path: "password-reset")) }
    }

    /// What was to be sent there, the oldest first.
    func messages(to identifier: String) -> [PasswordResetMessage] {
        messages.withLock { $0.filter { $0.to == identifier } }
    }

    private func take(_ body: ByteBuffer) throws {
        let message = try JSON.decode(PasswordResetMessage.self, from: Data(body.readableBytesView))
        messages.withLock { $0.append(message) }
    }
}
