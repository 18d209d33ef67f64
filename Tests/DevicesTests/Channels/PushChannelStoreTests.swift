import Foundation
import GatehouseServiceContracts
import Postgres
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// Channels and broadcasts in PostgreSQL.
@Suite struct PushChannelStoreTests {
    private static let app = "com.example.app"

    private static func channel(
        _ channelID: String = "YQ==", storage: PushChannelStorage? = .noMessage
    ) -> PushChannel {
        PushChannel(
            id: PushChannelRules.id(ofChannel: channelID, app: app, in: .sandbox), channelId: channelID,
            bundleId: app, environment: .sandbox, storage: storage)
    }

    private static func list(_ pushes: TestPushes, after id: UUID? = nil) async throws -> PushChannelList {
        try await pushes.channels.channels(of: app, in: .sandbox, after: id)
    }

    private static func reconcile(_ pushes: TestPushes, _ channelIDs: [String]) async throws {
        try await pushes.channels.reconcile(channelIDs, of: app, in: .sandbox, age: .seconds(1))
    }

    private static func age(_ pushes: TestPushes) async throws {
        try await pushes.database.query("UPDATE push_channels SET created_at = now() - interval '2 minutes'")
    }

    @Test func appleListDecides() async throws {
        try await TestPushes.with { pushes in
            try await pushes.channels.keep(Self.channel("YQ==", storage: .mostRecentMessage))
            try await pushes.channels.keep(Self.channel("Yg=="))
            // Apple's list may be older than a channel's creation.
            try await Self.reconcile(pushes, ["Yw=="])
            #expect(try await Set(Self.list(pushes).channels.map(\.channelId)) == ["YQ==", "Yg==", "Yw=="])
            try await Self.age(pushes)
            try await Self.reconcile(pushes, ["YQ==", "Yw==", "Yw=="])
            let channels = try await Self.list(pushes).channels
            #expect(Set(channels.map(\.channelId)) == ["YQ==", "Yw=="])
            #expect(channels.first { $0.channelId == "YQ==" } == Self.channel("YQ==", storage: .mostRecentMessage))
            #expect(channels.first { $0.channelId == "Yw==" }?.storage == nil)
            // Another app and another environment are untouched.
            try await pushes.channels.reconcile([], of: "com.example.other", in: .sandbox, age: .zero)
            try await pushes.channels.reconcile([], of: Self.app, in: .production, age: .zero)
            #expect(try await Self.list(pushes).channels.count == 2)
            try await Self.reconcile(pushes, [])
            #expect(try await Self.list(pushes).channels.isEmpty)
        }
    }

    @Test func asManyChannelsAsAppleAllowsAreListedInPages() async throws {
        try await TestPushes.with { pushes in
            let channelIDs = (0..<10_000).map { Data("\($0)".utf8).base64EncodedString() }
            try await Self.reconcile(pushes, channelIDs)
            try await Self.age(pushes)
            try await Self.reconcile(pushes, channelIDs)
            var found: [String] = []
            var after: UUID?
            repeat {
                let page = try await Self.list(pushes, after: after)
                #expect(page.channels.count <= PushChannelStore.pageSize)
                found += page.channels.map(\.channelId)
                after = page.next.flatMap(UUID.init(uuidString:))
            } while after != nil
            #expect(found.sorted() == channelIDs.sorted())
        }
    }

    // MARK: - Broadcasts

    private func publish(
        _ pushes: TestPushes, to channel: PushChannel, _ change: (inout PushBroadcast) -> Void = { _ in }
    ) async throws -> UUID {
        var broadcast = PushBroadcast(
            payload: .object(["aps": .object(["event": .string("update"), "timestamp": .integer(1)])]))
        change(&broadcast)
        let push = try PushChannelRules.validate(
            broadcast, payload: Array(#"{"aps":{"event":"update"}}"#.utf8), to: channel, now: .now)
        let acceptance = try await pushes.store.accept(
            push, of: TestPushes.caller, key: UUID().uuidString, hash: Data(count: 32))
        guard case .accepted(let answer, _) = acceptance, let id = answer.id.flatMap(UUID.init(uuidString:)) else {
            throw TestKitError("not accepted")
        }
        pushes.activity.accepted(QueueLoad(devices: 1), of: TestPushes.caller)
        return id
    }

    @Test func aBroadcastIsSentOnce() async throws {
        try await TestPushes.with { pushes in
            for (storage, expiration) in [
                (.noMessage, 0), (.mostRecentMessage, 1_900_000_000),
            ] as [(PushChannelStorage, Double)] {
                let channel = Self.channel(storage.rawValue, storage: storage)
                try await pushes.channels.keep(channel)
                let pushService = FakePushService()
                let expiresAt = storage == .noMessage ? nil : Date(timeIntervalSinceNow: 3600)
                let id = try await publish(pushes, to: channel) { $0.expiresAt = expiresAt }
                try await pushes.sending(through: pushService) { try await pushes.eventually(id, is: "accepted") }
                let sent = try #require(pushService.sent.first)
                #expect(pushService.sent.count == 1 && sent.destination == .channel(channel.channelId))
                #expect(sent.environment == .sandbox && sent.type == .liveactivity && sent.isProven)
                #expect(sent.bundleID == Self.app && sent.id == PushRules.id(of: id, on: channel.id))
                #expect((sent.expiresAt.timeIntervalSince1970 == 0) == (expiration == 0))
                let entry = try #require(try await pushes.status(of: id).devices.first)
                #expect(entry.device == channel.id && entry.user == channel.id && entry.attempts == 1)
            }
        }
    }

    @Test func a429PausesTheChannelAlone() async throws {
        try await TestPushes.with { pushes in
            let (slow, fast) = (Self.channel("YQ=="), Self.channel("Yg=="))
            try await pushes.channels.keep(slow)
            try await pushes.channels.keep(fast)
            let pushService = FakePushService { push in
                push.destination == .channel("YQ==")
                    ? .answered(APNsAnswer(status: 429, reason: "TooManyRequests", retryAfter: 3600))
                    : FakePushService.accepted
            }
            let first = try await publish(pushes, to: slow)
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(first, is: "retryAt TooManyRequests")
                let second = try await publish(pushes, to: slow)
                try await pushes.eventually(second, is: "queued TooManyRequests")
                let other = try await publish(pushes, to: fast)
                try await pushes.eventually(other, is: "accepted")
            }
            #expect(pushService.sent.count { $0.destination == .channel("YQ==") } == 1)
        }
    }

    @Test func aChannelThatAppleDoesNotKnowIsForgotten() async throws {
        try await TestPushes.with { pushes in
            let channel = Self.channel()
            try await pushes.channels.keep(channel)
            let pushService = FakePushService.refusing(400, "ChannelNotRegistered")
            let first = try await publish(pushes, to: channel)
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(first, is: "rejected ChannelNotRegistered")
                #expect(try await pushes.channels.channel(channel.id) == nil)
                let second = try await publish(pushes, to: channel)
                try await pushes.eventually(second, is: "rejected ChannelNotRegistered")
            }
            #expect(pushService.sent.count == 1)
        }
    }

    @Test func aBroadcastIsScheduledCancelledAndReplayedAsAPush() async throws {
        try await TestPushes.with { pushes in
            let channel = Self.channel()
            try await pushes.channels.keep(channel)
            let scheduled = try await publish(pushes, to: channel) { $0.sendAt = .now + 3600 }
            #expect(try await pushes.status(of: scheduled).state == .scheduled)
            #expect(try await pushes.store.cancel(scheduled, of: TestPushes.caller))
            #expect(try await pushes.status(of: scheduled).state == .cancelled)

            let due = try await publish(pushes, to: channel) { $0.sendAt = .now + 3600 }
            try await pushes.database.query("UPDATE pushes SET send_at = now() WHERE id = \(due)")
            let waiting = try await publish(pushes, to: channel)
            let unavailable = FakePushService.refusing(503, "ServiceUnavailable")
            try await pushes.sending(through: unavailable) {
                try await pushes.eventually(waiting, is: "retryAt ServiceUnavailable")
                try await pushes.eventually(due, is: "retryAt ServiceUnavailable")
                try await pushes.expire(waiting)
                try await pushes.eventually(waiting, is: "dead ServiceUnavailable")
            }
            let dead = try await pushes.store.dead(of: TestPushes.caller, after: nil).entries
            #expect(dead.map(\.push) == [waiting] && dead.map(\.device) == [channel.id])
            #expect(try await pushes.store.replay(waiting, of: TestPushes.caller, until: .now + 3600) == 1)
            pushes.activity.notePending()
            try await pushes.sending(through: FakePushService()) {
                pushes.activity.accepted(QueueLoad(devices: 1), of: TestPushes.caller)
                try await pushes.eventually(waiting, is: "accepted")
            }
        }
    }
}
