import Contracts
import Foundation
import Hummingbird
import NIOCore
import Synchronization

/// devices, as identity sees it.
final class FakeDevices: Sendable {
    struct State {
        var erased: [UUID] = []
        var registered: [DeviceExport.Entry] = []
        var isDown = false
    }

    let state = Mutex(State())

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.delete("internal/users/{id}") { request, context in
            let id = try context.parameters.require("id", as: UUID.self)
            let isDown = self.state.withLock { state in
                if !state.isDown { state.erased.append(id) }
                return state.isDown
            }
            return Response(status: isDown ? .serviceUnavailable : .noContent)
        }
        router.get("internal/users/{id}/devices") { request, context in
            let devices = self.state.withLock { $0.registered }
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(bytes: try JSON.encode(DeviceExport(devices: devices)))))
        }
        return router
    }
}
