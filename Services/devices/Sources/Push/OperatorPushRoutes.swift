import Crypto
import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Hummingbird

/// Internal routes that identity calls for an operator after it has checked the operator's role: test pushes to the
/// operator's own devices, and a user's undelivered pushes.
struct OperatorPushRoutes: Sendable {
    let pushes: PushRoutes
    let devices: DeviceStore

    private static let caller = PushCaller(name: DeviceAdministration.caller, bundleIDs: [], types: [.alert])

    func add(to router: ServiceRouter) {
        router.internal(callers: "identity")
            .post("/users/{id}/test-pushes", use: send)
            .get("/users/{id}/test-pushes/{push}", use: status)
            .get("/users/{id}/undelivered-pushes", use: listUndelivered)
    }

    /// `key` is the idempotency key, which each operator chooses apart.
    private func send(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.uuid("id")
        guard let key = request.uri.queryParameters.get("key"), PushRules.isKey(key) else { throw PushRoutes.noKey }
        let input = try await request.decode(TestPushRequest.self)
        // Not 503: a repetition would not help, and the operator has to see the reason.
        guard pushes.canSend else {
            throw Problem(.invalidRequest, "Gatehouse is not set up to send pushes. It has no key of Apple's.")
        }
        let registered = try await devices.devices(of: user).filter { $0.kind == .alert }
        let push = try TestPushRules.validate(input, to: user, apps: Set(registered.map(\.bundleId)), now: .now)
        guard let push else {
            throw Problem(
                .notFound,
                "None of your devices receives pushes. Sign in to the app on a device, and allow notifications.")
        }
        let hash = SHA256.hash(data: push.content.payload + Array(push.content.bundleID.utf8))
        return try await pushes.keep(
            push, of: Self.caller, key: "\(user.uuidString.lowercased()) \(key)", hash: Data(hash))
    }

    private func status(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.uuid("id")
        let push = try await pushes.store.status(of: context.uuid("push"), of: Self.caller.name, after: nil)
        // Operators' pushes from a shell are to other users.
        guard let push, push.devices.allSatisfy({ $0.user == user }) else { throw Problem(.notFound) }
        return try .json(push, holdsToken: true)
    }

    private func listUndelivered(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        try .json(await pushes.store.undelivered(to: context.uuid("id")), holdsToken: true)
    }
}
