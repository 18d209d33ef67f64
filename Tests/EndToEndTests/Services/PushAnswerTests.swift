import Contracts
import Foundation
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
        // The token was invalid before it was registered, or since.
        (Answer(410, "Unregistered", invalidFor: 3600), false), (Answer(410, "Unregistered", invalidFor: -3600), true),
        (Answer(413, "PayloadTooLarge"), false), (Answer(400, "BadCollapseId"), false),
        (Answer(403, "Forbidden"), false),
    ])
    func aRefusedPushIsNotRepeated(_ answer: Answer, endsRegistration: Bool) async throws {
        let ada = try await caller.recipient()
        try await caller.plan(answer, for: ada.token)
        let refused = try #require(try await outcomes("refused", to: ada.user).first)
        #expect(refused.state == .rejected && refused.reason == answer.reason && refused.attempts == 1)

        let next = try await outcomes("next", to: ada.user).map(\.state)
        #expect(endsRegistration ? next != [.accepted] : next == [.accepted], "\(next)")
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
        try await eventually("the other phone has it") { try await caller.status(of: next).counts["accepted"] == 1 }
        #expect(try await caller.statuses(of: phone.token) == [429])
    }

    /// Later, or over another connection.
    @Test(arguments: [
        Answer(500, "InternalServerError"), Answer(503, "ServiceUnavailable"), Answer(503, "Shutdown"),
        Answer(400, "IdleTimeout"), Answer(403, "UnrelatedKeyIdInToken"),
    ])
    func aPushThatAppleCouldNotTakeIsRepeated(_ answer: Answer) async throws {
        let ada = try await caller.recipient()
        try await caller.plan(answer, for: ada.token)
        #expect(try await outcomes("at last", to: ada.user).map(\.state) == [.accepted])
        let sent = try await caller.statuses(of: ada.token)
        #expect(sent == [answer.status, 200])
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
        var request = PushCaller.alert("late", to: ada.user)
        request.expiresAt = .now + 3
        let push = try await caller.push(request)
        let dead = try #require(try await caller.ended(push).devices.first)
        #expect(dead.state == .dead && dead.reason == "InternalServerError" && dead.attempts >= 1)

        let list = try await caller.get("/dead").decode(DeadPushList.self)
        #expect(list.entries.contains { $0.push.uuidString.lowercased() == push && $0.user == ada.user })
        try await caller.plan(Answer(200), for: ada.token, times: nil)
        let replayed = try await caller.post("/dead/\(push)/replay", PushReplay(expiresAt: .now + 3600))
        #expect(try replayed.status == 202 && replayed.decode(PushAccepted.self).devices == 1, "\(replayed.text)")
        #expect(try await caller.ended(push).devices.map(\.state) == [.accepted])
    }

    /// The lane waits for minutes. A restart, which an operator makes with a new key, begins anew.
    @Test func aRefusedKeyStopsTheLane() async throws {
        let ada = try await caller.recipient()
        try await caller.plan(Answer(403, "InvalidProviderToken"), for: ada.token)
        let push = try await push("for later", to: ada.user)
        let name = "devices_apns_lane_stopped"
        try await eventually("the lane has stopped") {
            try await TestHTTPClient(system.process("devices").adminURL).get("/metrics").text
                .split(separator: "\n").contains { $0.hasPrefix(name) && $0.hasSuffix(" 1.0") }
        }
        #expect(try await caller.statuses(of: ada.token) == [403])
        try await eventually("the answer is recorded") { try await caller.status(of: push).counts == ["retryAt": 1] }
        await system.process("devices").kill()
        try await system.process("devices").start()
        try await system.withDatabase(of: "devices") { database in
            try await database.query("UPDATE push_targets SET due_at = now() WHERE state = 'retryAt'")
        }
        #expect(try await caller.ended(push).devices.map(\.state) == [.accepted])
        #expect(try await caller.statuses(of: ada.token) == [403, 200])
    }
}
