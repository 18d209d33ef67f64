import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

/// What Apple answers, from the request to the phone: "Handling notification responses from APNs".
@Suite(.gatehouse(settings: ["DEVICES_PUSH_RETRY_DELAY": "1"]), .serialized) struct PushAnswerTests {
    typealias Answer = PushCaller.Answer

    let caller = PushCaller()
    var system: GatehouseSystem { caller.system }

    private func push(_ text: String, to user: UUID) async throws -> String {
        try await caller.push(PushCaller.alert(text, to: user))
    }

    private func outcomes(_ text: String, to user: UUID) async throws -> [PushStatus.Entry] {
        try await caller.ended(push(text, to: user)).devices
    }

    @Test(arguments: [
        (Answer(400, "BadDeviceToken"), true), (Answer(400, "DeviceTokenNotForTopic"), true),
        // The token was registered again after Apple found it invalid, or not.
        (Answer(410, "Unregistered", invalidSince: .now - 3600), false),
        (Answer(410, "Unregistered", invalidSince: .now + 3600), true),
        (Answer(413, "PayloadTooLarge"), false), (Answer(400, "BadCollapseId"), false),
        (Answer(403, "Forbidden"), false),
    ])
    func aRefusedPushIsNotRepeated(_ answer: Answer, endsRegistration: Bool) async throws {
        let ada = try await caller.recipient()
        try await caller.plan(answer, for: ada.token)
        let refused = try #require(try await outcomes("refused", to: ada.user).first)
        #expect(refused.state == .rejected && refused.reason == answer.reason && refused.attempts == 1)

        let next = try #require(try await outcomes("next", to: ada.user).first)
        #expect(next.state == (endsRegistration ? .rejected : .accepted))
        if endsRegistration { #expect(next.reason == answer.reason && next.attempts == 0) }
        let sent = endsRegistration ? [answer.status] : [answer.status, 200]
        #expect(try await caller.statuses(of: ada.token) == sent)

        try await caller.register(ada)
        #expect(try await outcomes("again", to: ada.user).map(\.state) == [.accepted])
        #expect(try await caller.statuses(of: ada.token) == sent + [200])
    }

    /// A token that both environments know is refused by one of them.
    @Test func aRefusalIsOfOneEnvironment() async throws {
        let ada = try await caller.recipient()
        try await caller.register(ada) { $0.environment = .production }
        try await caller.plan(Answer(400, "BadDeviceToken"), for: ada.token)
        #expect(try await caller.ended(push("to both", to: ada.user)).counts == ["accepted": 1, "rejected": 1])
        #expect(try await caller.ended(push("to one", to: ada.user)).counts["accepted"] == 1)
        #expect(try await caller.statuses(of: ada.token).count { $0 == 200 } == 2)
        #expect(try await caller.statuses(of: ada.token).count == 3)
    }

    /// The phone that Apple names waits. The user's other phone gets its pushes.
    @Test func tooManyRequestsPauseOneDevice() async throws {
        let phone = try await caller.recipient()
        let tablet = try await caller.recipient(phone.session)
        try await caller.plan(Answer(429, "TooManyRequests", retryAfter: 600), for: phone.token)
        let first = try await push("to both", to: phone.user)
        try await eventually("one waits") {
            try await caller.status(of: first).counts == ["accepted": 1, "retryAt": 1]
        }
        #expect(try await caller.statuses(of: phone.token) == [429])
        #expect(try await caller.statuses(of: tablet.token) == [200])
        let next = try await push("the next", to: phone.user)
        try await eventually("the other phone has it") {
            let status = try await caller.status(of: next)
            return status.counts == ["accepted": 1, "queued": 1]
                && status.devices.contains { $0.reason == "TooManyRequests" && $0.attempts == 0 }
        }
        #expect(try await caller.statuses(of: phone.token) == [429])
    }

    @Test(arguments: [
        (Answer(500, "InternalServerError"), false), (Answer(503, "ServiceUnavailable"), false),
        (Answer(503, "Shutdown"), true), (Answer(400, "IdleTimeout"), true),
        (Answer(403, "UnrelatedKeyIdInToken"), true),
    ])
    func aPushThatAppleCouldNotTakeIsRepeated(_ answer: Answer, overAnotherConnection: Bool) async throws {
        let ada = try await caller.recipient()
        try await caller.plan(answer, for: ada.token)
        #expect(try await outcomes("at last", to: ada.user).map(\.state) == [.accepted])
        let received = try await caller.received(by: ada.token)
        try #require(received.map(\.status) == [answer.status, 200])
        #expect((received[0].connection != received[1].connection) == overAnotherConnection)
        // `DEVICES_PUSH_RETRY_DELAY`
        if !overAnotherConnection { #expect(received[1].time >= received[0].time + 1000) }
    }

    /// Apple takes no second provider token on a connection within 20 minutes: 429 TooManyProviderTokenUpdates. The
    /// connection goes on with the first one.
    @Test func aProviderTokenIsRenewedAsOftenAsAppleAllows() async throws {
        let ada = try await caller.recipient()
        #expect(try await outcomes("with the first token", to: ada.user).map(\.state) == [.accepted])
        try await caller.plan(Answer(403, "ExpiredProviderToken"), for: ada.token)
        for text in ["with a new token", "with the first one again"] {
            #expect(try await outcomes(text, to: ada.user).map(\.state) == [.accepted])
        }
        let sent = try await caller.statuses(of: ada.token)
        #expect(sent == [200, 403, 429, 200, 200])
    }

    @Test func aPushThatNeverArrivesIsADeadLetterThatCanBeReplayed() async throws {
        let ada = try await caller.recipient()
        try await caller.plan(Answer(500, "InternalServerError"), for: ada.token, times: nil)
        let push = try await push("late", to: ada.user)
        try await eventually("it waits") { try await caller.status(of: push).counts == ["retryAt": 1] }
        let id = try #require(UUID(uuidString: push))
        try await system.withDatabase(of: "devices") { database in
            try await database.query("UPDATE pushes SET expires_at = now() WHERE id = \(id)")
        }
        let dead = try #require(try await caller.ended(push).devices.first)
        #expect(dead.state == .dead && dead.reason == "InternalServerError" && dead.attempts >= 1)

        let list = try await caller.get("/dead").decode(DeadPushList.self)
        #expect(list.entries.contains { $0.push.uuidString.lowercased() == push && $0.user == ada.user })
        try await caller.plan(Answer(200), for: ada.token, times: nil)
        let replayed = try await caller.post("/dead/\(push)/replay", PushReplay(expiresAt: .now + 3600))
        #expect(try replayed.status == 202 && replayed.decode(PushAccepted.self).devices == 1, "\(replayed.text)")
        #expect(try await caller.ended(push).devices.map(\.state) == [.accepted])
        #expect(try await !caller.get("/dead").decode(DeadPushList.self).entries.contains { $0.push == id })
    }

    /// Each fault of one sending, and its outcome: a sending that Apple did not process is repeated, one
    /// that Apple may have processed only if its caller wants it.
    @Test(arguments: [
        (PushCaller.Fault(mode: "goAway", lastStreamId: 0), PushDoubt.drop, [nil, 200], 1),
        (.init(mode: "reset", code: 7), .drop, [nil, 200], 1), (.init(mode: "reset", code: 2), .repeat, [200, 200], 2),
        (.init(mode: "reset", code: 2), .drop, [200], 1), (.init(mode: "cutBefore"), .repeat, [nil, 200], 2),
        (.init(mode: "cutBefore"), .drop, [nil], 1), (.init(mode: "cutUnanswered"), .repeat, [200, 200], 2),
        (.init(mode: "cutUnanswered"), .drop, [200], 1), (.init(mode: "halfClose"), .drop, [200], 1),
        (.init(mode: "headers"), .drop, [200], 1),
    ])
    func anAnswerThatIsLostLeavesADoubt(
        _ fault: PushCaller.Fault, _ doubt: PushDoubt, _ statuses: [Int?], attempts: Int
    ) async throws {
        let ada = try await caller.recipient()
        var fault = fault
        (fault.token, fault.times) = (ada.token, 1)
        try await caller.inject(fault)
        var request = PushCaller.alert("perhaps", to: ada.user)
        request.onDoubt = doubt
        let target = try #require(try await caller.ended(caller.push(request)).devices.first)
        // One that APNs is known to have processed, or not, is in no doubt.
        let isLost = statuses.count == 1
        #expect(target.state == (isLost ? .inDoubt : .accepted) && target.attempts == attempts, "\(target)")
        let sent = try await caller.statuses(of: ada.token)
        #expect(sent == statuses)
        try await caller.inject(.init(mode: "none"))
    }

    /// "Handling error responses from Apple Push Notification service"
    @Test(arguments: [Answer(400, "ChannelNotRegistered"), Answer(429, "TooManyRequests", retryAfter: 1)])
    func aBroadcastThatIsRefused(_ answer: Answer) async throws {
        let channel = try await caller.channel()
        try await caller.plan(answer, for: channel.channelId)
        func publish() async throws -> PushStatus {
            let broadcast = PushBroadcast(
                payload: .object(["aps": .object(["event": .string("update"), "timestamp": .integer(1)])]))
            let accepted = try await caller.post("/channels/\(channel.id)/publish", broadcast)
            return try await caller.ended(#require(try accepted.decode(PushAccepted.self).id))
        }
        let isGone = answer.status == 400
        let target = try #require(try await publish().devices.first)
        #expect(target.state == (isGone ? .rejected : .accepted) && target.attempts == (isGone ? 1 : 2), "\(target)")
        let listed = try await caller.get("/channels?bundleId=com.example.app&environment=sandbox")
        #expect(try listed.decode(PushChannelList.self).channels.contains(channel) == !isGone)
    }

    /// The pool waits for minutes. A restart, which an operator makes with a new key, begins anew.
    @Test(arguments: [
        Answer(403, "InvalidProviderToken"), Answer(403, "MissingProviderToken"),
        Answer(403, "BadEnvironmentKeyIdInToken"), Answer(400, "TopicDisallowed"),
        Answer(403, "BadCertificateEnvironment"),
    ])
    func aRefusedKeyStopsTheConnectionPool(_ answer: Answer) async throws {
        let (ada, bob) = (try await caller.recipient(), try await caller.recipient())
        try await caller.register(bob) { $0.environment = .production }
        try await caller.plan(answer, for: ada.token)
        let push = try await push("for later", to: ada.user)
        let name = "devices_apns_lane_stopped"
        try await eventually("the pool has stopped") {
            try await TestHTTPClient(system.process("devices").adminURL).get("/metrics").text
                .split(separator: "\n").contains { $0.hasPrefix(name) && $0.hasSuffix(" 1.0") }
        }
        #expect(try await caller.statuses(of: ada.token) == [answer.status])
        // Of the pool of the other environment the key is not refused.
        let both = try await self.push("for both", to: bob.user)
        try await eventually("one of both arrives") {
            try await caller.status(of: both).counts == ["accepted": 1, "queued": 1]
        }
        try await eventually("the answer is recorded") { try await caller.status(of: push).counts == ["retryAt": 1] }
        await system.process("devices").kill()
        try await system.process("devices").start()
        try await system.withDatabase(of: "devices") { database in
            try await database.query("UPDATE push_targets SET due_at = now() WHERE state IN ('queued', 'retryAt')")
        }
        for push in [push, both] { #expect(Array(try await caller.ended(push).counts.keys) == ["accepted"]) }
        #expect(try await caller.statuses(of: ada.token) == [answer.status, 200])
    }
}
