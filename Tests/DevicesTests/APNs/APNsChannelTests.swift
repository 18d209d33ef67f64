import Foundation
import GatehouseServiceContracts
import NIOHPACK
import NIOHTTP2
import NIOPosix
import TestKit
import Testing

@testable import DevicesService

/// Broadcasts and requests about channels on a connection.
@Suite struct APNsChannelTests {
    private static let channelID = "dHN0LXNyY2gtY2hubA=="

    private static func broadcast(expiresAt: Date = Date(timeIntervalSince1970: 0)) -> RenderedPush {
        RenderedPush(
            id: UUID(), destination: .channel(channelID), environment: .production,
            topic: "com.example.app.push-type.liveactivity", type: .liveactivity, priority: .considerate,
            collapseID: nil, expiresAt: expiresAt, payload: Array(#"{"aps":{"event":"update"}}"#.utf8), isProven: true,
            isUrgent: false, sendBefore: .now + .seconds(60))
    }

    private static func request(_ operation: ChannelRequest.Operation) -> ChannelRequest {
        ChannelRequest(
            bundleID: "com.example.app", environment: .production, operation: operation,
            sendBefore: .now + .seconds(60))
    }

    @Test func aBroadcastHasApplesFields() async throws {
        try await TestAPNs.withConnectionPools(script: { _ in [.status(200)] }) { pools, apns in
            let push = Self.broadcast()
            #expect(await pools.send(push) == .accepted)
            #expect(
                await pools.send(Self.broadcast(expiresAt: Date(timeIntervalSince1970: 1_800_000_000))) == .accepted)
            let request = try #require(apns.requests.first)
            #expect(request.field(":method") == "POST")
            #expect(request.field(":path") == "/4/broadcasts/apps/com.example.app")
            #expect(request.field("authorization")?.hasPrefix("bearer ey") == true)
            #expect(request.field("apns-channel-id") == Self.channelID)
            #expect(request.field("apns-request-id") == push.id.uuidString.lowercased())
            #expect(request.field("apns-push-type") == "liveactivity" && request.field("apns-priority") == "5")
            #expect(request.field("apns-topic") == nil && request.field("apns-id") == nil)
            #expect(apns.requests.map { $0.field("apns-expiration") } == ["0", "1800000000"])
            #expect(request.body == #"{"aps":{"event":"update"}}"#)
            // Devices' pushes use the same connection.
            #expect(await pools.send(.test()) == .accepted)
            #expect(apns.connections == 1)
        }
    }

    @Test func requestsAboutChannelsHaveApplesFields() async throws {
        let script: TestAPNs.Script = { request in
            switch request.field(":method") {
            case "POST": [.channels(201, channelID: Self.channelID)]
            case "DELETE": [.channels(204)]
            default: [.channels(200, body: "{}")]
            }
        }
        try await TestAPNs.withConnectionPools(script: script) { pools, apns in
            let create = Self.request(.create(.mostRecentMessage))
            #expect(
                await pools.send(.channels(create)) == .answered(APNsAnswer(status: 201, channelID: Self.channelID)))
            for (operation, answer) in [
                (.list, APNsAnswer(status: 200, body: Array("{}".utf8))),
                (.read(Self.channelID), APNsAnswer(status: 200, body: Array("{}".utf8))),
                (.delete(Self.channelID), APNsAnswer(status: 204)),
            ] as [(ChannelRequest.Operation, APNsAnswer)] {
                #expect(await pools.send(.channels(Self.request(operation))) == .answered(answer))
            }
            let requests = apns.requests
            #expect(
                requests.map { $0.field(":path") }
                    == ["channels", "all-channels", "channels", "channels"].map { "/1/apps/com.example.app/\($0)" })
            #expect(requests.map { $0.field(":method") } == ["POST", "GET", "GET", "DELETE"])
            #expect(requests.map { $0.field("apns-channel-id") } == [nil, nil, Self.channelID, Self.channelID])
            #expect(requests[0].body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
            #expect(requests[0].field("apns-request-id") == create.id.uuidString.lowercased())
            #expect(requests.dropFirst().allSatisfy { $0.body.isEmpty && $0.field("content-type") == nil })
            #expect(requests.allSatisfy { $0.field("authorization") != nil && $0.field("apns-topic") == nil })
            #expect(apns.connections == 1)
        }
    }

    @Test func aListIsLongerThanAnAnswerToAPush() async throws {
        let list = #"{"channels":["\#(String(repeating: "A", count: 600_000))"]}"#
        try await TestAPNs.withConnectionPools(script: { _ in [.channels(200, body: list)] }) { pools, _ in
            let outcome = await pools.send(.channels(Self.request(.list)))
            #expect(outcome == .answered(APNsAnswer(status: 200, body: Array(list.utf8))))
        }
    }

    @Test func aManagementServerThatIsSilentEndsARequestInTime() async throws {
        var limits = TestAPNs.limits
        limits.sendTimeout = .milliseconds(200)
        try await TestAPNs.withConnectionPools(limits: limits, script: { _ in [] }) { pools, _ in
            #expect(await pools.send(.channels(Self.request(.list))) == .inDoubt)
        }
    }

    /// Each use has its server, and a key that Apple refuses for channels sends pushes all the same.
    @Test func broadcastsAndChannelsMayHaveServersOfTheirOwn() async throws {
        try await TestAPNs.run(script: { _ in [.status(200)] }) { pushes, pushPort in
            try await TestAPNs.run(script: { _ in [.status(200)] }) { broadcasts, broadcastPort in
                try await TestAPNs.run(script: { _ in [.status(403, reason: "InvalidProviderToken")] }) {
                    channels, port in
                    var endpoints = try TestAPNs.endpoints("http://127.0.0.1:\(pushPort)")
                    endpoints.productionBroadcasts = try .init("http://127.0.0.1:\(broadcastPort)")
                    endpoints.productionChannels = try .init("http://127.0.0.1:\(port)")
                    let pools = try APNsConnectionPools(
                        keys: [TestAPNs.key(topics: ["com.example.app"])], endpoints: endpoints,
                        limits: TestAPNs.limits, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: .quiet)
                    let refused = await pools.send(.channels(Self.request(.list)))
                    guard case .answered(let answer) = refused else { throw TestKitError("\(refused)") }
                    #expect(answer.reason == "InvalidProviderToken")
                    #expect(await pools.send(.channels(Self.request(.list))) == .notSent(.connectionPoolStopped))
                    #expect(await pools.send(Self.broadcast()) == .accepted)
                    #expect(await pools.send(.test()) == .accepted)
                    #expect(pushes.requests.count == 1 && broadcasts.requests.count == 1)
                    #expect(channels.requests.count == 1)
                    let other = ChannelRequest(
                        bundleID: "com.example.other", environment: .production, operation: .list,
                        sendBefore: .now + .seconds(60))
                    #expect(await pools.send(.channels(other)) == .notSent(.noKey))
                    await pools.close()
                }
            }
        }
    }
}
