import GatehouseServiceKit
import HTTPTypes
import Hummingbird

/// The tests' half: the actions of a person or an app, and faults.
struct SimulatorRoutes: Sendable {
    let accounts: AppleAccounts
    let fault: Fault
    let log: RequestLog

    func add(to router: some RouterMethods<GatehouseRequestContext>) {
        router.on("/simulator/sign-in", method: .post) { request, _ in
            let wanted = try await request.decode(SignInRequest.self)
            return try Response.json(try await accounts.signIn(wanted), holdsToken: true)
        }
        router.on("/simulator/rotate-keys", method: .post) { _, _ in
            try Response.json(RotateKeysResponse(kids: try await accounts.rotateKeys().map(\.kid)))
        }
        router.on("/simulator/notification", method: .post) { request, _ in
            let wanted = try await request.decode(NotificationRequest.self)
            return try Response.json(try await accounts.notify(wanted))
        }
        router.on("/simulator/fault", method: .post) { request, _ in
            let wanted = try await request.decode(FaultRequest.self)
            fault.mode = wanted.mode
            return try Response.json(wanted)
        }
        router.on("/simulator/log", method: .get) { _, _ in
            try Response.json(LogResponse(entries: log.entries))
        }
    }
}

/// The published keys, beginning with the signing key.
private struct RotateKeysResponse: Codable {
    var kids: [String]
}

private struct LogResponse: Codable {
    var entries: [RequestLog.Entry]
}
