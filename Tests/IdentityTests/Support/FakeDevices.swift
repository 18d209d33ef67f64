import Foundation
import GatehouseServiceContracts
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// devices, as identity sees it.
final class FakeDevices: Sendable {
    struct State {
        var erased: [UUID] = []
        var registered: [DeviceExport.Entry] = []
        var testPushes: [TestPush] = []
        var undelivered: [UndeliveredPushList.Entry] = []
        var isDown = false
    }

    struct TestPush: Equatable {
        var id = UUID()
        var user: UUID
        var key: String
        var request: TestPushRequest
    }

    let state = Mutex(State())

    private static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: try JSON.encode(value))))
    }

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        addPushes(to: router)
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
            return try Self.json(DeviceExport(devices: devices))
        }
        return router
    }

    /// Refuses a user without devices, as devices does.
    private func addPushes(to router: Router<BasicRequestContext>) {
        router.post("internal/users/{id}/test-pushes") { request, context in
            let push = TestPush(
                user: try context.parameters.require("id", as: UUID.self),
                key: try request.uri.queryParameters.require("key"),
                request: try JSON.decode(
                    TestPushRequest.self, from: Data(Array(buffer: try await request.body.collect(upTo: 65_536)))))
            let isRegistered = self.state.withLock { state in
                state.testPushes.append(push)
                return !state.registered.isEmpty
            }
            guard isRegistered else {
                let problem = Problem(.notFound, "None of your devices receives pushes.")
                return try Self.json(ProblemDocument(problem, requestID: "r"), status: .notFound)
            }
            return try Self.json(PushAccepted(id: push.id.uuidString.lowercased(), devices: 1), status: .accepted)
        }
        router.get("internal/users/{id}/test-pushes/{push}") { request, context in
            let user = try context.parameters.require("id", as: UUID.self)
            let id = try context.parameters.require("push", as: UUID.self)
            guard self.state.withLock({ $0.testPushes.contains { $0.id == id && $0.user == user } }) else {
                return try Self.json(ProblemDocument(Problem(.notFound), requestID: "r"), status: .notFound)
            }
            return try Self.json(
                PushStatus(
                    id: id, state: .done, createdAt: .now, sendAt: nil, expiresAt: .now, counts: ["accepted": 1],
                    devices: [], next: nil))
        }
        router.get("internal/users/{id}/undelivered-pushes") { request, context in
            try Self.json(UndeliveredPushList(entries: self.state.withLock { $0.undelivered }))
        }
    }
}
