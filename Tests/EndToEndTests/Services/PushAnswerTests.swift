import Contracts
import Foundation
import Postgres
import TestKit
import Testing

/// What Apple answers, from the request to the phone: "Handling notification responses from APNs".
@Suite(.gatehouse(settings: ["DEVICES_PUSH_RETRY_DELAY": "1"]), .serialized) struct PushAnswerTests {
    let caller = PushCaller()
    var system: GatehouseSystem { caller.system }
    var journey: Journey { caller.journey }

    /// A planned answer of the simulated APNs.
    struct Answer: Encodable, Sendable, CustomTestStringConvertible {
        var token: String?
        var status: Int
        var reason: String
        /// Milliseconds since 1970.
        var timestamp: Int?
        var times: Int? = 1
        /// Seconds.
        var retryAfter: Int?

        init(_ status: Int, _ reason: String, invalidFor seconds: Double? = nil) {
            (self.status, self.reason) = (status, reason)
            timestamp = seconds.map { Int((Date.now.timeIntervalSince1970 - $0) * 1000) }
        }

        var testDescription: String { "\(status) \(reason) \(timestamp.map(String.init) ?? "")" }
    }

    private func plan(_ answer: Answer, for token: String, times: Int? = 1) async throws {
        var answer = answer
        (answer.token, answer.times) = (token, times)
        #expect(try await system.apple.post("/simulator/apns-answer", json: answer).status == 200)
    }

    /// Answers pushes to the token as usual.
    private func endPlan(for token: String) async throws {
        struct Accepted: Encodable {
            var token: String
            var status = 200
        }
        #expect(try await system.apple.post("/simulator/apns-answer", json: Accepted(token: token)).status == 200)
    }

    private func accepted(_ text: String, to user: UUID, expiresAt: Date? = nil) async throws -> String {
        let answer = try await caller.push(text, to: user, through: system.process("devices"), expiresAt: expiresAt)
        try #require(answer.status == 202, "\(answer.text)")
        return try #require(try answer.decode(PushAccepted.self).id)
    }

    /// The push's targets, once each has ended.
    private func ended(_ push: String) async throws -> [PushStatus.Entry] {
        var status: PushStatus?
        try await eventually("the push has ended") {
            status = try await caller.status(of: push)
            return status?.state == .done
        }
        return status?.devices ?? []
    }

    private func statuses(of token: String) async throws -> [Int?] {
        try await caller.received().filter { $0.token == token }.map(\.status)
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
        try await plan(answer, for: ada.token)
        let refused = try #require(try await ended(accepted("refused", to: ada.session.user.id)).first)
        #expect(refused.state == .rejected && refused.reason == answer.reason && refused.attempts == 1)

        let next = try await ended(accepted("next", to: ada.session.user.id)).map(\.state)
        #expect(endsRegistration ? next != [.accepted] : next == [.accepted], "\(next)")
        let sent = endsRegistration ? [answer.status] : [answer.status, 200]
        #expect(try await statuses(of: ada.token) == sent)

        try await caller.register(ada)
        #expect(try await ended(accepted("again", to: ada.session.user.id)).map(\.state) == [.accepted])
        #expect(try await statuses(of: ada.token) == sent + [200])
    }

    /// The phone that Apple names waits. The user's other phone gets its pushes.
    @Test func tooManyRequestsPauseOneDevice() async throws {
        let phone = try await caller.recipient()
        let tablet = try await caller.recipient(phone.session)
        var answer = Answer(429, "TooManyRequests")
        answer.retryAfter = 600
        try await plan(answer, for: phone.token)
        let push = try await accepted("to both", to: phone.session.user.id)
        try await eventually("one waits") {
            try await caller.status(of: push).counts == ["accepted": 1, "retryAt": 1]
        }
        #expect(try await statuses(of: phone.token) == [429])
        #expect(try await statuses(of: tablet.token) == [200])
        let next = try await accepted("the next", to: phone.session.user.id)
        try await eventually("the other phone has it") { try await caller.status(of: next).counts["accepted"] == 1 }
        #expect(try await statuses(of: phone.token) == [429])
    }

    @Test(arguments: [Answer(500, "InternalServerError"), Answer(503, "ServiceUnavailable"), Answer(503, "Shutdown")])
    func aPushThatAppleCouldNotTakeIsRepeated(_ answer: Answer) async throws {
        let ada = try await caller.recipient()
        try await plan(answer, for: ada.token)
        #expect(try await ended(accepted("at last", to: ada.session.user.id)).map(\.state) == [.accepted])
        #expect(try await statuses(of: ada.token) == [answer.status, 200])
    }

    @Test func aPushThatNeverArrivesIsADeadLetterThatCanBeReplayed() async throws {
        let ada = try await caller.recipient()
        try await plan(Answer(500, "InternalServerError"), for: ada.token, times: nil)
        let push = try await accepted("late", to: ada.session.user.id, expiresAt: .now + 3)
        let dead = try #require(try await ended(push).first)
        #expect(dead.state == .dead && dead.reason == "InternalServerError" && dead.attempts >= 1)

        let devices = TestHTTPClient(system.process("devices").url)
        let headers = [HeaderName.credential: SystemSettings.ordersCredential]
        let list = try await devices.get("/internal/push/dead", headers: headers).decode(DeadPushList.self)
        #expect(list.entries.contains { $0.push.uuidString.lowercased() == push && $0.user == ada.session.user.id })
        try await endPlan(for: ada.token)
        let replayed = try await devices.post(
            "/internal/push/dead/\(push)/replay", json: PushReplay(expiresAt: .now + 3600), headers: headers)
        #expect(try replayed.status == 202 && replayed.decode(PushAccepted.self).devices == 1, "\(replayed.text)")
        try await eventually("it arrives") { try await caller.status(of: push).devices.map(\.state) == [.accepted] }
    }

    /// The lane waits for minutes. A restart, which an operator makes with a new key, begins anew.
    @Test func aRefusedKeyStopsTheLane() async throws {
        let ada = try await caller.recipient()
        try await plan(Answer(403, "InvalidProviderToken"), for: ada.token)
        let push = try await accepted("for later", to: ada.session.user.id)
        let name = "devices_apns_lane_stopped"
        try await eventually("the lane has stopped") {
            try await TestHTTPClient(system.process("devices").adminURL).get("/metrics").text
                .split(separator: "\n").contains { $0.hasPrefix(name) && $0.hasSuffix(" 1.0") }
        }
        #expect(try await statuses(of: ada.token) == [403])
        try await eventually("the answer is recorded") { try await caller.status(of: push).counts == ["retryAt": 1] }
        await system.process("devices").kill()
        try await system.process("devices").start()
        try await system.withDatabase(of: "devices") { database in
            try await database.query("UPDATE push_targets SET due_at = now() WHERE state = 'retryAt'")
        }
        try await eventually("it arrives") { try await caller.status(of: push).devices.map(\.state) == [.accepted] }
        #expect(try await statuses(of: ada.token) == [403, 200])
    }

    /// The replica's knowledge of ended sessions grows old. It goes on for a time, then waits, and sends as soon as tokens
    /// is back.
    @Test func withoutTokensPushesGoOnForATimeAndThenWait() async throws {
        let ada = try await caller.recipient()
        try await withOtherDevices(settings: ["DEVICES_REVOCATION_MAX_STALENESS": "30"]) { replica in
            func accepted(_ text: String) async throws -> String {
                let answer = try await caller.push(text, to: ada.session.user.id, through: replica)
                return try #require(try answer.decode(PushAccepted.self).id, "\(answer.text)")
            }
            func arrives(_ push: String) async throws {
                try await eventually("it arrives") {
                    try await caller.status(of: push, through: replica).counts == ["accepted": 1]
                }
            }
            try await arrives(try await accepted("with tokens"))
            await system.process("tokens").kill()
            try await arrives(try await accepted("without tokens"))
            try await eventually("the feed was not read for so long") {
                let readAt = try await replica.metric("devices_revocation_feed_read_timestamp_seconds") ?? 0
                return Date.now.timeIntervalSince1970 - readAt > 31
            }
            let log = try await statuses(of: ada.token)
            let push = try await accepted("later")
            try await Task.sleep(for: .seconds(1))
            #expect(try await caller.status(of: push, through: replica).counts == ["queued": 1])
            #expect(try await statuses(of: ada.token) == log)
            try await system.process("tokens").start()
            try await arrives(push)
        }
    }

    /// Runs `body` with this replica of devices alone.
    private func withOtherDevices(
        settings: [String: String], _ body: (ServiceProcess) async throws -> Void
    ) async throws {
        let result: Result<Void, any Error>
        do {
            try await system.withReplica(of: "devices", settings: settings) { replica in
                try await replica.start()
                await system.process("devices").kill()
                try await body(replica)
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        for name in ["tokens", "devices"] {
            await system.process(name).kill()
            try await system.process(name).start()
        }
        try result.get()
    }

    @Test func aSegmentReachesItsUsersAlone() async throws {
        let (ada, bob) = (try await caller.recipient(), try await caller.recipient())
        let devices = TestHTTPClient(system.process("devices").url)
        let headers = [HeaderName.credential: SystemSettings.ordersCredential]
        let tag = "tag-\(UUID().uuidString.lowercased())"
        let tagged = try await devices.send(
            "PUT", "/internal/users/\(ada.session.user.id.uuidString.lowercased())/tags",
            headers: headers.merging(["Content-Type": "application/json"]) { $1 },
            body: Data("{\"tags\":[\"\(tag)\"]}".utf8))
        #expect((200..<300).contains(tagged.status), "\(tagged.text)")
        let request = PushRequest(
            targets: .init(segment: .init(tags: .init(any: [tag]))), bundleId: "com.example.app", pushType: .alert,
            payload: .object(["aps": .object(["alert": .string(tag)])]))
        let accepted = try await devices.post(
            "/internal/push", json: request, headers: headers.merging(["Idempotency-Key": tag]) { $1 })
        let id = try #require(try accepted.decode(PushAccepted.self).id, "\(accepted.text)")
        try await eventually("the push has ended") { try await caller.status(of: id).state == .done }
        #expect(try await caller.status(of: id).counts == ["accepted": 1])
        #expect(try await statuses(of: ada.token) == [200])
        #expect(try await statuses(of: bob.token).isEmpty)
    }

    enum End: CaseIterable {
        case logout, theft, passwordReset, deletion, consentRevoked
    }

    @Test(arguments: End.allCases)
    func nothingIsSentTwoSecondsAfterASessionsEnd(by end: End) async throws {
        let email = Journey.uniqueEmail()
        let apple = try await journey.appleToken()
        let session =
            end == .consentRevoked
            ? try await journey.signInWithApple(AppleSignInRequest(identityToken: apple.identityToken))
            : try await journey.register(identifier: email)
        let phone = try await caller.recipient(session)
        let pushing = Task {
            var pushes: [String] = []
            while !Task.isCancelled {
                // The last one is cancelled.
                if let push = try? await accepted("tick", to: session.user.id) { pushes.append(push) }
                try? await Task.sleep(for: .milliseconds(50))
            }
            return pushes
        }
        try await eventually("pushes arrive") { try await statuses(of: phone.token).count >= 3 }
        let (endedAt, lag) = try await SchedulingLag.watch { lag in
            try await self.end(session, by: end, email, apple)
            let endedAt = Int(Date.now.timeIntervalSince1970 * 1000)
            try await eventually("the phone is no target") {
                let answer = try await caller.push("tick", to: session.user.id, through: system.process("devices"))
                return try answer.decode(PushAccepted.self).devices == 0
            }
            return (endedAt, lag.allowance)
        }
        pushing.cancel()
        for push in await pushing.value { _ = try await ended(push) }
        let latest = try await caller.received().filter { $0.token == phone.token }.map(\.time).max() ?? 0
        let allowed = 2000 + Int(min(lag * 4, SchedulingLag.mostForgiven) / .milliseconds(1))
        #expect(latest <= endedAt + allowed, "\(latest - endedAt) ms after the end")
    }

    private func end(
        _ session: AuthResponse, by end: End, _ email: String, _ apple: Journey.AppleSignInAnswer
    ) async throws {
        var answer: TestHTTPClient.Response
        switch end {
        case .logout:
            answer = try await journey.api.call(
                "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: session.refreshToken))
        case .theft:
            var token = session.refreshToken
            for _ in 0..<2 { token = try await journey.refresh(token).decode(AuthResponse.self).refreshToken }
            try await system.age(session, by: 61)
            answer = try await journey.refresh(session.refreshToken)
            #expect(answer.code == "INVALID_REFRESH_TOKEN")
            return
        case .passwordReset:
            answer = try await journey.api.call(
                "POST", "/v1/auth/password/forgot", json: ForgotPasswordRequest(identifier: email))
            try await eventually("the mail is sent") { !system.mail.messages(to: email).isEmpty }
            answer = try await journey.api.call(
                "POST", "/v1/auth/password/reset",
                json: ResetPasswordRequest(
                    token: try #require(system.mail.messages(to: email).last).token,
                    newPassword: "another battery staple"))
        case .deletion:
            answer = try await journey.api.call("DELETE", "/v1/auth/account", bearer: session.accessToken, body: nil)
        case .consentRevoked:
            answer = try await journey.api.call(
                "POST", "/v1/auth/apple/notifications",
                json: try await journey.appleNotification(.init(type: "consent-revoked", sub: apple.sub)))
        }
        #expect((200..<300).contains(answer.status), "\(answer.text)")
    }
}
