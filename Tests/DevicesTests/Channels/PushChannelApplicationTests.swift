import Foundation
import GatehouseServiceContracts
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// Apple's management of channels, with the answers that a test wants.
private final class FakeChannels: Sendable {
    private struct State {
        var channels: [String: PushChannelStorage] = [:]
        var requests: [ChannelRequest] = []
        var failure: SendOutcome?
        var losesAnswers = false
    }

    private let state = Mutex(State())

    var channels: [String: PushChannelStorage] { state.withLock { $0.channels } }
    var requests: [ChannelRequest] { state.withLock { $0.requests } }

    func fail(with outcome: SendOutcome?) { state.withLock { $0.failure = outcome } }
    func loseAnswers(_ loses: Bool) { state.withLock { $0.losesAnswers = loses } }

    @Sendable func answer(_ request: ChannelRequest) async -> SendOutcome {
        state.withLock { state in
            state.requests.append(request)
            if let failure = state.failure { return failure }
            let answer = Self.perform(request.operation, &state.channels)
            return state.losesAnswers ? .inDoubt : .answered(answer)
        }
    }

    private static func perform(
        _ operation: ChannelRequest.Operation, _ channels: inout [String: PushChannelStorage]
    ) -> APNsAnswer {
        let unknown = APNsAnswer(status: 400, reason: "ChannelNotRegistered")
        switch operation {
        case .create(let storage):
            let channelID = Data("channel/\(channels.count)".utf8).base64EncodedString()
            channels[channelID] = storage
            return APNsAnswer(status: 201, channelID: channelID)
        case .list:
            let list = channels.keys.map { "\"\($0)\"" }.joined(separator: ",")
            return APNsAnswer(status: 200, body: Array(#"{"channels":[\#(list)]}"#.utf8))
        case .read(let channelID):
            guard let storage = channels[channelID] else { return unknown }
            let body = #"{"message-storage-policy":\#(storage.policy),"push-type":"LiveActivity"}"#
            return APNsAnswer(status: 200, body: Array(body.utf8))
        case .delete(let channelID):
            return channels.removeValue(forKey: channelID) == nil ? unknown : APNsAnswer(status: 204)
        }
    }
}

/// The routes of channels in the real application, with PostgreSQL and a fake of Apple's management.
@Suite struct PushChannelApplicationTests {
    private static let path = "/internal/push/channels"
    private static let callers = """
        callers:
          - name: orders
            credential: dev-orders-devices
            bundleIds: [com.example.app]
            pushTypes: [alert, liveactivity]
          - name: chat
            credential: dev-chat-devices
            bundleIds: [com.example.app, com.example.chat]
            pushTypes: voip
          - name: sports
            credential: dev-sports-devices
            bundleIds: com.example.sports
            pushTypes: liveactivity
        """

    private func withDevices(
        _ pushService: FakePushService = FakePushService(),
        _ body: @escaping @Sendable (TestHTTPClient, FakeChannels) async throws -> Void
    ) async throws {
        let apple = FakeChannels()
        try await DevicesWithPushService.$pushService.withValue(pushService) {
            try await DevicesWithPushService.$channels.withValue(apple.answer) {
                try await withDevicesDependencies(callers: Self.callers) { dependencies in
                    try await withService(DevicesWithPushService.self, settings: dependencies.settings) { service in
                        try await body(TestHTTPClient(service.url), apple)
                    }
                }
            }
        }
    }

    private func headers(_ caller: String = "orders", key: String = UUID().uuidString) -> [String: String] {
        [HeaderName.credential: "dev-\(caller)-devices", "Idempotency-Key": key]
    }

    private func create(
        _ client: TestHTTPClient, _ storage: PushChannelStorage = .noMessage
    ) async throws -> PushChannel {
        let request = PushChannelRequest(bundleId: "com.example.app", environment: .sandbox, storage: storage)
        let response = try await client.post(Self.path, json: request, headers: headers())
        try #require(response.status == 201, "\(response.text)")
        return try response.decode(PushChannel.self)
    }

    private func list(_ client: TestHTTPClient) async throws -> [PushChannel] {
        try await client.get(
            "\(Self.path)?bundleId=com.example.app&environment=sandbox", headers: headers()
        ).decode(PushChannelList.self).channels
    }

    private func publish(
        _ client: TestHTTPClient, to channel: UUID, event: String = "update", key: String = UUID().uuidString,
        as caller: String = "orders"
    ) async throws -> TestHTTPClient.Response {
        try await client.post(
            "\(Self.path)/\(channel)/publish", text: #"{"payload": {"aps" : {"event":"\#(event)","timestamp":1}}}"#,
            headers: headers(caller, key: key))
    }

    @Test func aChannelIsCreatedUsedAndDeleted() async throws {
        let pushService = FakePushService()
        try await withDevices(pushService) { client, apple in
            let channel = try await create(client, .mostRecentMessage)
            #expect(apple.channels == [channel.channelId: .mostRecentMessage] && channel.storage == .mostRecentMessage)
            #expect(try await list(client) == [channel])

            let response = try await publish(client, to: channel.id, key: "goal")
            #expect(response.status == 202, "\(response.text)")
            let id = try response.decode(PushAccepted.self).id ?? ""
            #expect(try await publish(client, to: channel.id, key: "goal").body == response.body)
            #expect(try await publish(client, to: channel.id, event: "end", key: "goal").status == 409)
            try await eventually("it is sent") {
                try await client.get("/internal/push/\(id)", headers: headers()).decode(PushStatus.self).state == .done
            }
            #expect(pushService.sent.map(\.payload) == [Array(#"{"aps" : {"event":"update","timestamp":1}}"#.utf8)])
            #expect(pushService.sent.first?.destination == .channel(channel.channelId))

            #expect(try await client.delete("\(Self.path)/\(channel.id)", headers: headers()).status == 204)
            #expect(apple.channels.isEmpty)
            #expect(try await list(client).isEmpty)
            #expect(try await client.delete("\(Self.path)/\(channel.id)", headers: headers()).status == 404)
            #expect(try await publish(client, to: channel.id).status == 404)
        }
    }

    @Test func callersSeeTheChannelsOfTheirApps() async throws {
        try await withDevices { client, apple in
            let channel = try await create(client)
            let request = PushChannelRequest(bundleId: "com.example.app", environment: .sandbox, storage: .noMessage)
            let query = "?bundleId=com.example.app&environment=sandbox"
            let before = apple.requests.count
            // One may push to the app, but no Live Activities; the other the reverse.
            for caller in ["chat", "sports", "gateway", "wrong"] {
                #expect(try await client.post(Self.path, json: request, headers: headers(caller)).status == 403)
                #expect(try await client.get(Self.path + query, headers: headers(caller)).status == 403)
            }
            for caller in ["chat", "sports"] {
                let path = "\(Self.path)/\(channel.id)"
                #expect(try await client.delete(path, headers: headers(caller)).status == 404)
                #expect(try await publish(client, to: channel.id, as: caller).status == 404)
            }
            #expect(apple.requests.count == before)
        }
    }

    @Test func aLostAnswerLeavesAChannelThatTheListShows() async throws {
        let pushService = FakePushService()
        try await withDevices(pushService) { client, apple in
            apple.loseAnswers(true)
            let request = PushChannelRequest(bundleId: "com.example.app", environment: .sandbox, storage: .noMessage)
            let lost = try await client.post(Self.path, json: request, headers: headers())
            #expect(lost.status == 504)
            apple.loseAnswers(false)
            let found = try #require(try await list(client).first)
            #expect(found.storage == nil && apple.channels.keys.contains(found.channelId))
            // Its first broadcast reads how it was created.
            #expect(try await publish(client, to: found.id).status == 202)
            #expect(apple.requests.last?.operation == .read(found.channelId))
            #expect(try await list(client).first?.storage == .noMessage)

            // A deletion can be repeated.
            apple.loseAnswers(true)
            #expect(try await client.delete("\(Self.path)/\(found.id)", headers: headers()).status == 504)
            apple.loseAnswers(false)
            #expect(try await client.delete("\(Self.path)/\(found.id)", headers: headers()).status == 204)
        }
    }

    @Test func appleRefusalsAreProblems() async throws {
        try await withDevices { client, apple in
            let channel = try await create(client)
            apple.fail(with: .answered(APNsAnswer(status: 429, reason: "TooManyRequests", retryAfter: 9)))
            let refused = try await client.delete("\(Self.path)/\(channel.id)", headers: headers())
            #expect(refused.status == 429 && refused.header("Retry-After") == "9")
            apple.fail(with: .answered(APNsAnswer(status: 400, reason: "CannotCreateChannelConfig")))
            let request = PushChannelRequest(bundleId: "com.example.app", environment: .sandbox, storage: .noMessage)
            let full = try await client.post(Self.path, json: request, headers: headers())
            #expect(full.status == 400)
            #expect(try full.problem().errors?.map(\.field) == ["bundleId"])
            // A known channel can be published to while its management is unavailable.
            apple.fail(with: .notSent(.unreachable))
            #expect(try await publish(client, to: channel.id).status == 202)
        }
    }

    @Test func wrongFieldsAreNamed() async throws {
        try await withDevices { client, apple in
            let list = try await client.get("\(Self.path)?bundleId=a%20b", headers: headers())
            #expect(try list.problem().errors?.map(\.field) == ["bundleId", "environment"])
            let storage = #"{"bundleId":"com.example.app","environment":"sandbox","storage":"all"}"#
            #expect(try await client.post(Self.path, text: storage, headers: headers()).status == 400)
            #expect(apple.requests.isEmpty)
            let channel = try await create(client)
            let start = try await publish(client, to: channel.id, event: "start")
            #expect(try start.problem().errors?.map(\.field) == ["payload"])
            #expect(try await publish(client, to: channel.id, key: "a b").status == 400)
        }
    }
}
