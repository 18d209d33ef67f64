import Foundation
import GatehouseServiceContracts
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// The team's sender of mail.
final class FakeMail: Sendable {
    let messages = Mutex<[PasswordResetMessage]>([])
    /// The bodies in which they came.
    let bodies = Mutex<[Data]>([])

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.post("reset") { request, _ in
            guard request.headers[.authorization] == "Bearer dev-mail-hook" else { throw HTTPError(.unauthorized) }
            let body = Data(try await request.body.collect(upTo: 1 << 16).readableBytesView)
            let message = try JSON.decode(PasswordResetMessage.self, from: body)
            self.bodies.withLock { $0.append(body) }
            self.messages.withLock { $0.append(message) }
            return Response(status: .ok)
        }
        return router
    }
}
