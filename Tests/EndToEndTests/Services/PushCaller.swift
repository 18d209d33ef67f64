import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

/// A service of the team's own that pushes, users with phones, and the simulated APNs.
struct PushCaller: Sendable {
    /// A user with a phone.
    struct Recipient: Sendable {
        var session: AuthResponse
        var token: String
        var user: UUID { session.user.id }
    }

    let system = GatehouseSystem.current
    var journey: Journey { system.journey }
    private let credential = [HeaderName.credential: SystemSettings.ordersCredential]

    // MARK: - Phones

    func recipient(_ session: AuthResponse? = nil) async throws -> Recipient {
        let session = if let session { session } else { try await journey.register() }
        let recipient = Recipient(session: session, token: journey.registration().token)
        try await register(recipient)
        return recipient
    }

    /// Phones of one user.
    func phones(_ count: Int) async throws -> [Recipient] {
        var phones = [try await recipient()]
        while phones.count < count { phones.append(try await recipient(phones[0].session)) }
        return phones
    }

    func recipients(_ count: Int) async throws -> [Recipient] {
        var recipients: [Recipient] = []
        for _ in 0..<count { recipients.append(try await recipient()) }
        return recipients
    }

    func register(
        _ recipient: Recipient, _ change: (inout Registration) -> Void = { _ in }
    ) async throws {
        var registration = journey.registration()
        registration.token = recipient.token
        change(&registration)
        let answer = try await journey.whenServed(
            "POST", "/v1/devices/register", bearer: recipient.session.accessToken, json: registration)
        try #require(answer.status == 200, "\(answer.text)")
    }

    /// A segment of these users alone.
    func segment(of users: [UUID]) async throws -> PushRequest.Targets {
        let tag = "tag-\(UUID().uuidString.lowercased())"
        for user in users {
            let answer = try await devices(nil).send(
                "PUT", "/internal/users/\(user.uuidString.lowercased())/tags",
                headers: credential.merging(["Content-Type": "application/json"]) { $1 },
                body: try JSON.encode(UserTags(tags: [tag])))
            try #require((200..<300).contains(answer.status), "\(answer.text)")
        }
        return .init(segment: .init(tags: .init(any: [tag])))
    }

    // MARK: - Pushes

    private func devices(_ replica: ServiceProcess?, within limit: Duration = .seconds(15)) -> TestHTTPClient {
        TestHTTPClient((replica ?? system.process("devices")).url, timeout: limit)
    }

    static func alert(_ text: String, to targets: PushRequest.Targets) -> PushRequest {
        PushRequest(
            targets: targets, bundleId: "com.example.app", pushType: .alert,
            payload: .object(["aps": .object(["alert": .string(text)])]))
    }

    static func alert(_ text: String, to user: UUID) -> PushRequest { alert(text, to: .init(users: [user])) }

    func post(
        _ path: String, _ body: some Encodable, key: String = UUID().uuidString, through replica: ServiceProcess? = nil,
        within limit: Duration = .seconds(15)
    ) async throws -> TestHTTPClient.Response {
        try await devices(replica, within: limit).post(
            "/internal/push\(path)", json: body, headers: credential.merging(["Idempotency-Key": key]) { $1 })
    }

    /// Returns the id of the push.
    func push(_ request: PushRequest, through replica: ServiceProcess? = nil) async throws -> String {
        let answer = try await post("", request, through: replica)
        try #require(answer.status == 202, "\(answer.text)")
        return try #require(try answer.decode(PushAccepted.self).id)
    }

    func get(_ path: String, through replica: ServiceProcess? = nil) async throws -> TestHTTPClient.Response {
        try await devices(replica).get("/internal/push\(path)", headers: credential)
    }

    /// A new channel that stores no message.
    func channel() async throws -> PushChannel {
        let request = PushChannelRequest(bundleId: "com.example.app", environment: .sandbox, storage: .noMessage)
        let answer = try await post("/channels", request)
        try #require(answer.status == 201, "\(answer.text)")
        return try answer.decode(PushChannel.self)
    }

    func delete(
        _ path: String, through replica: ServiceProcess? = nil, within limit: Duration = .seconds(15)
    ) async throws -> Int {
        try await devices(replica, within: limit).delete("/internal/push\(path)", headers: credential).status
    }

    func status(of push: String, through replica: ServiceProcess? = nil) async throws -> PushStatus {
        let answer = try await get("/\(push)", through: replica)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(PushStatus.self)
    }

    /// The push's status, once each device has a final state.
    func ended(
        _ push: String, within limit: Duration = .seconds(60), through replica: ServiceProcess? = nil
    ) async throws -> PushStatus {
        let open = [PushTargetState.queued, .claimed, .retryAt].map(\.rawValue)
        var status: PushStatus?
        try await eventually("the push has ended: \(status as Any)", within: limit, every: .milliseconds(20)) {
            // A replica that has just started may refuse.
            let answer = try await get("/\(push)", through: replica)
            guard answer.status == 200 else { return false }
            let current = try answer.decode(PushStatus.self)
            status = current
            return [.done, .cancelled].contains(current.state) && !open.contains { current.counts[$0, default: 0] > 0 }
        }
        return try #require(status)
    }

    // MARK: - The simulated APNs

    /// A planned answer.
    struct Answer: Encodable, Sendable, CustomTestStringConvertible {
        var status: Int
        var reason: String?
        /// Milliseconds since 1970.
        var timestamp: Int?
        /// Seconds.
        var retryAfter: Int?
        fileprivate var token: String?
        fileprivate var times: Int?

        init(_ status: Int, _ reason: String? = nil, invalidSince: Date? = nil, retryAfter: Int? = nil) {
            (self.status, self.reason, self.retryAfter) = (status, reason, retryAfter)
            timestamp = invalidSince.map { Int($0.timeIntervalSince1970 * 1000) }
        }

        var testDescription: String { "\(status) \(reason ?? "") \(timestamp.map(String.init) ?? "")" }
    }

    /// Answers pushes so from now on.
    ///
    /// - Parameters:
    ///   - token: `nil` for all that have no plan of their own.
    ///   - times: `nil`: for ever.
    func plan(_ answer: Answer, for token: String?, times: Int? = 1) async throws {
        var answer = answer
        (answer.token, answer.times) = (token, times)
        #expect(try await system.apple.post("/simulator/apns-answer", json: answer).status == 200)
    }

    /// A fault of the simulated APNs: its mode, and what else it needs.
    struct Fault: Encodable, Sendable, CustomTestStringConvertible {
        var mode: String
        /// A device token's pushes alone.
        var token: String?
        var times: Int?
        /// Seconds.
        var delay: Double?
        /// Streams, of the mode `streams`.
        var count: Int?
        var code: Int?
        var lastStreamId: Int?

        var testDescription: String { mode + (code.map { " \($0)" } ?? "") }
    }

    func inject(_ fault: Fault) async throws {
        let answer = try await system.apple.post("/simulator/apns-fault", json: fault)
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// What the simulated APNs has logged of a push.
    struct Received: Decodable, Sendable {
        /// When Apple read it, in milliseconds since 1970.
        var time: Int
        var token: String
        /// Of a broadcast.
        var channel: String?
        var topic: String?
        var type: String?
        var id: String?
        var payload: String
        /// Absent: the push was not processed.
        var status: Int?
        /// By number since the start of the simulator.
        var connection: Int
        /// Whether Apple did not read the connection for a time: the push may have waited in the kernel.
        var wasStalled: Bool
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

    func received(by token: String) async throws -> [Received] {
        try await received().filter { $0.token == token }
    }

    /// What the simulated APNs answered to pushes to the token.
    func statuses(of token: String) async throws -> [Int?] { try await received(by: token).map(\.status) }
}

extension PushCaller.Received {
    /// The push's text, in an alert or in an update of a Live Activity.
    var text: String {
        struct Payload: Decodable {
            struct APS: Decodable {
                struct Content: Decodable { var text: String }
                enum CodingKeys: String, CodingKey {
                    case alert
                    case content = "content-state"
                }
                var alert: String?
                var content: Content?
            }
            var aps: APS
        }
        let aps = try? JSONDecoder().decode(Payload.self, from: Data(payload.utf8)).aps
        return aps?.alert ?? aps?.content?.text ?? ""
    }
}
