import Foundation
import NIOPosix
import TestKit
import Testing

@testable import AppleSimulator

/// Broadcast channels of the simulated APNs.
@Suite struct APNsChannelTests {
    private static let app = "com.example.app"
    private static let channel = "dHN0LXNyY2gtY2hubA=="
    private static let now = 1_800_000_000

    // MARK: - Rules

    private static func authenticate(_ field: String?) -> Result<ProviderToken, APNsAnswer.Refusal> {
        switch field {
        case nil: .failure(.init(answer: .refused(403, "MissingProviderToken")))
        case "other":
            .success(ProviderToken(team: "T", keyIdentifier: "K", issuedAt: now, topics: ["com.example.other"]))
        default: .success(ProviderToken(team: "T", keyIdentifier: "K", issuedAt: now))
        }
    }

    private func refusal(
        of policy: APNsChannels.StoragePolicy? = .noMessage, _ change: (inout APNsPush) -> Void = { _ in }
    ) -> String? {
        var push = APNsPush()
        (push.method, push.path, push.authorization) = ("POST", "/4/broadcasts/apps/\(Self.app)", "bearer x")
        (push.type, push.priority, push.expiration) = ("liveactivity", "10", "0")
        push.channelIdentifier = Self.channel
        push.body = Array(#"{"aps":{}}"#.utf8)
        change(&push)
        let answer = push.broadcastRefusal(
            policy: policy, app: push.broadcastApp ?? "", authenticate: Self.authenticate)
        return answer.map { "\($0.status) \($0.body?.reason ?? "")" }
    }

    @Test func broadcastsAreChecked() {
        #expect(refusal() == nil)
        #expect(refusal(of: .mostRecentMessage) { $0.expiration = "1800000000" } == nil)
        for priority in ["1", "5", "10"] { #expect(refusal { $0.priority = priority } == nil) }
        #expect(refusal { $0.requestIdentifier = UUID().uuidString } == nil)
        #expect(refusal { $0.body += Array(repeating: 0x20, count: 5_120 - $0.body.count) } == nil)
        let cases: [(String, (inout APNsPush) -> Void)] = [
            ("405 MethodNotAllowed", { $0.method = "GET" }), ("400 DuplicateHeaders", { $0.repeatedField = "x" }),
            ("400 MissingChannelId", { $0.channelIdentifier = nil }),
            ("400 BadChannelId", { $0.channelIdentifier = "not Base64" }),
            ("400 BadChannelId", { $0.channelIdentifier = String(repeating: "A", count: 260) }),
            ("403 MissingProviderToken", { $0.authorization = nil }),
            ("400 TopicDisallowed", { $0.authorization = "other" }),
            ("400 BadMessageId", { $0.requestIdentifier = "1" }), ("400 MissingPushType", { $0.type = nil }),
            ("400 InvalidPushType", { $0.type = "alert" }), ("400 BadExpirationDate", { $0.expiration = nil }),
            ("400 BadExpirationDate", { $0.expiration = "soon" }),
            ("400 BadExpirationDate", { $0.expiration = "1800000000" }), ("400 BadPriority", { $0.priority = nil }),
            ("400 BadPriority", { $0.priority = "7" }), ("400 PayloadEmpty", { $0.body = [] }),
            ("413 PayloadTooLarge", { $0.body = Array(repeating: 0x20, count: 5_121) }),
        ]
        for (reason, change) in cases { #expect(refusal(change) == reason) }
        #expect(refusal(of: nil) == "400 ChannelNotRegistered")
    }

    @Test func pathsNameTheApp() {
        func push(_ path: String) -> APNsPush {
            var push = APNsPush()
            push.path = path
            return push
        }
        #expect(push("/4/broadcasts/apps/a.b").broadcastApp == "a.b")
        #expect(push("/4/broadcasts/apps/a/b").broadcastApp == nil && push("/4/broadcasts/apps/").broadcastApp == nil)
        #expect(push("/1/apps/a.b/channels").channelsApp == "a.b")
        #expect(push("/1/apps/a.b/all-channels").channelsApp == "a.b")
        for path in ["/1/apps/a.b", "/1/apps/a.b/", "/1/apps//channels", "/1/apps/a.b/other", "/3/device/00"] {
            #expect(push(path).channelsApp == nil, "\(path)")
        }
    }

    @Test func anAppHasAtMostTenThousandChannels() {
        let channels = APNsChannels()
        var create = APNsPush()
        (create.method, create.body) = ("POST", Array(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#.utf8))
        for _ in 0..<10_000 { #expect(channels.perform(create, app: Self.app).status == 201) }
        #expect(channels.perform(create, app: Self.app) == .refused(400, "CannotCreateChannelConfig"))
        #expect(channels.perform(create, app: "com.example.other").status == 201)
    }

    // MARK: - Through sockets

    @Test func channelsAreManagedAndReceiveBroadcasts() async throws {
        let simulation = APNsSimulation(log: RequestLog())
        let server = try await APNsServer(
            host: "127.0.0.1", port: 0, certificate: nil, simulation: simulation,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton)
        let running = Task { try await server.run() }
        defer { running.cancel() }
        let client = try await HTTP2TestClient.connect(port: server.port)
        var headers = ["authorization": try TestProvider().authorization(issuedAt: simulation.now)]
        let path = "/1/apps/\(Self.app)/channels"

        let configuration = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
        let id = UUID().uuidString
        let created = try await client.post(
            path, headers: headers.merging(["apns-request-id": id]) { $1 }, body: configuration)
        #expect(created.status == "201" && created.headers["apns-request-id"] == id && created.body.isEmpty)
        let channel = try #require(created.headers["apns-channel-id"])
        for (body, reason) in [
            ("x", "PayloadEmpty"), (#"{"message-storage-policy":0}"#, "MissingPushType"),
            (#"{"message-storage-policy":0,"push-type":"Alert"}"#, "InvalidPushType"),
            (#"{"message-storage-policy":2,"push-type":"LiveActivity"}"#, "PayloadEmpty"),
        ] {
            let refused = try await client.post(path, headers: headers, body: body)
            #expect(refused.status == "400" && refused.body == #"{"reason":"\#(reason)"}"#)
        }

        headers["apns-channel-id"] = channel
        let read = try await client.response(on: client.send(path, method: "GET", headers: headers))
        #expect(read.status == "200" && read.body.contains(#""message-storage-policy":0"#))
        let list = try await client.response(
            on: client.send("/1/apps/\(Self.app)/all-channels", method: "GET", headers: headers))
        #expect(
            try JSONDecoder().decode([String: [String]].self, from: Data(list.body.utf8)) == ["channels": [channel]])

        let fields = ["apns-push-type": "liveactivity", "apns-expiration": "0", "apns-priority": "10"]
        let broadcast = headers.merging(fields) { $1 }
        let target = "/4/broadcasts/apps/\(Self.app)"
        #expect(try await client.post(target, headers: broadcast).status == "200")
        simulation.answers.set(.refused(429, "TooManyRequests"), for: channel, times: 1)
        #expect(try await client.post(target, headers: broadcast).status == "429")
        #expect(simulation.pushes.entries.map(\.channel) == [channel, channel])
        #expect(simulation.pushes.entries.map(\.status) == [200, 429])
        #expect(PhonePage(simulation.pushes.entries, token: nil, now: simulation.now).phones.isEmpty)

        let deleted = try await client.response(on: client.send(path, method: "DELETE", headers: headers))
        #expect(deleted.status == "204")
        let again = try await client.response(on: client.send(path, method: "DELETE", headers: headers))
        #expect(again.status == "400" && again.body == #"{"reason":"ChannelNotRegistered"}"#)
        #expect(try await client.post(target, headers: broadcast).status == "400")
        try await client.close()
    }
}
