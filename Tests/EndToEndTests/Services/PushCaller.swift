import Contracts
import Foundation
import TestKit
import Testing

/// A service of the team's own that pushes, users with phones, and what the simulated APNs has received.
struct PushCaller: Sendable {
    let system = GatehouseSystem.current
    var journey: Journey { system.journey }

    /// A user with a phone.
    struct Recipient: Sendable {
        var session: AuthResponse
        var token: String
    }

    func recipient(_ session: AuthResponse? = nil) async throws -> Recipient {
        let session = if let session { session } else { try await journey.register() }
        let recipient = Recipient(session: session, token: journey.registration().token)
        try await register(recipient)
        return recipient
    }

    func register(_ recipient: Recipient) async throws {
        var registration = journey.registration()
        registration.token = recipient.token
        let answer = try await journey.api.call(
            "POST", "/v1/devices/register", bearer: recipient.session.accessToken, json: registration)
        try #require(answer.status == 200, "\(answer.text)")
    }

    func recipients(_ count: Int) async throws -> [Recipient] {
        var recipients: [Recipient] = []
        for _ in 0..<count { recipients.append(try await recipient()) }
        return recipients
    }

    func push(
        _ text: String, to user: UUID, key: String = UUID().uuidString, through devices: ServiceProcess,
        expiresAt: Date? = nil
    ) async throws -> TestHTTPClient.Response {
        var request = PushRequest(
            targets: .init(users: [user]), bundleId: "com.example.app", pushType: .alert,
            payload: .object(["aps": .object(["alert": .string(text)])]))
        request.expiresAt = expiresAt
        return try await TestHTTPClient(devices.url).post(
            "/internal/push", json: request,
            headers: [HeaderName.credential: SystemSettings.ordersCredential, "Idempotency-Key": key])
    }

    func status(of push: String, through devices: ServiceProcess? = nil) async throws -> PushStatus {
        let answer = try await TestHTTPClient((devices ?? system.process("devices")).url).get(
            "/internal/push/\(push)", headers: [HeaderName.credential: SystemSettings.ordersCredential])
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(PushStatus.self)
    }

    /// What the simulated APNs has logged of a push.
    struct Received: Decodable, Sendable {
        /// Milliseconds since 1970.
        var time: Int
        var token: String
        /// Of a broadcast.
        var channel: String?
        var id: String?
        var payload: String
        /// Absent: the push was not processed.
        var status: Int?
    }

    func received() async throws -> [Received] {
        struct Page: Decodable {
            var pushes: [Received]
            var next: Int
            var lost: Int
        }
        var pushes: [Received] = []
        var after = 0
        while true {
            let page = try await system.apple.get("/simulator/apns-pushes?after=\(after)").decode(Page.self)
            #expect(page.lost == 0)
            if page.pushes.isEmpty { return pushes }
            pushes += page.pushes
            after = page.next
        }
    }
}
