import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

/// Pushes from a service of the team's own to the simulated APNs, whose log says what the phones received.
@Suite(.gatehouse(settings: ["DEVICES_PUSH_RETRY_DELAY": "1"]), .serialized) struct PushTests {
    let caller = PushCaller()
    var system: GatehouseSystem { caller.system }
    var journey: Journey { caller.journey }

    @Test func aPushReachesItsUsersPhoneAlone() async throws {
        let (ada, bob) = (try await caller.recipient(), try await caller.recipient())
        let push = try await caller.push(PushCaller.alert("Your order", to: ada.user))
        #expect(try await caller.ended(push).devices.map(\.state) == [.accepted])
        #expect(try await caller.statuses(of: ada.token) == [200])
        #expect(try await caller.received(by: bob.token).isEmpty)
        let phone = try await system.apple.get("/simulator/phone?token=\(ada.token)")
        #expect(phone.text.contains("Your order"))
    }

    /// Each kind of registration receives the pushes that Apple delivers to its token, under that kind's topic.
    @Test(arguments: [
        (PushKind.voip, PushType.voip, "voip", nil),
        (.liveactivity, .liveactivity, "push-type.liveactivity", "update"),
        (.pushtostart, .liveactivity, "push-type.liveactivity", "start"),
    ])
    func eachKindHasItsTokens(_ kind: PushKind, type: PushType, topic: String, event: String?) async throws {
        let phone = try await caller.recipient()
        let other = PushCaller.Recipient(session: phone.session, token: journey.registration().token)
        try await caller.register(other) { registration in
            registration.kind = kind
            if kind == .liveactivity { registration.activity = "order-7" }
            if kind == .pushtostart { registration.attributesType = "OrderAttributes" }
        }
        var aps: [VerbatimString: JSONValue] = ["content-state": .object(["minutes": .integer(5)])]
        if let event {
            aps["event"] = .string(event)
            aps["timestamp"] = .integer(Int64(Date.now.timeIntervalSince1970))
        }
        if event == "start" {
            aps["attributes-type"] = .string("OrderAttributes")
            aps["attributes"] = .object([:])
            aps["input-push-token"] = .integer(1)
            aps["alert"] = .object(["title": .string("Your order"), "body": .string("is on its way")])
        }
        let targets = PushRequest.Targets(users: [phone.user], activity: event == "update" ? "order-7" : nil)
        let push = try await caller.push(
            PushRequest(
                targets: targets, bundleId: "com.example.app", pushType: type, payload: .object(["aps": .object(aps)])))
        #expect(try await caller.ended(push).counts == ["accepted": 1])
        let received = try await caller.received(by: other.token)
        #expect(received.map(\.topic) == ["com.example.app.\(topic)"] && received.map(\.type) == [type.rawValue])
        #expect(try await caller.received(by: phone.token).isEmpty)
    }

    @Test func aSegmentReachesItsUsersAlone() async throws {
        let (ada, bob) = (try await caller.recipient(), try await caller.recipient())
        let push = try await caller.push(PushCaller.alert("news", to: caller.segment(of: [ada.user])))
        #expect(try await caller.ended(push).counts == ["accepted": 1])
        #expect(try await caller.statuses(of: ada.token) == [200])
        #expect(try await caller.received(by: bob.token).isEmpty)
    }

    @Test func aBroadcastReachesItsChannel() async throws {
        let channel = try await caller.channel()
        let broadcast = PushBroadcast(
            payload: .object(["aps": .object(["event": .string("update"), "timestamp": .integer(1)])]))
        let accepted = try await caller.post("/channels/\(channel.id)/publish", broadcast)
        let push = try #require(try accepted.decode(PushAccepted.self).id, "\(accepted.text)")
        #expect(try await caller.ended(push).devices.map(\.state) == [.accepted])
        #expect(try await caller.received().filter { $0.channel == channel.channelId }.map(\.status) == [200])
        let listed = try await caller.get("/channels?bundleId=com.example.app&environment=sandbox")
        #expect(try listed.decode(PushChannelList.self).channels.contains(channel))
        #expect(try await caller.delete("/channels/\(channel.id)") == 204)
    }

    /// Of two scheduled pushes one is cancelled. Then both are due.
    @Test func aScheduledPushIsSentWhenItIsDueUnlessItIsCancelled() async throws {
        let ada = try await caller.recipient()
        var pushes: [UUID] = []
        for text in ["cancelled", "due"] {
            var request = PushCaller.alert(text, to: ada.user)
            request.sendAt = .now + 3600
            pushes.append(try #require(UUID(uuidString: try await caller.push(request))))
        }
        #expect(try await caller.status(of: "\(pushes[1])").state == .scheduled)
        #expect(try await caller.delete("/\(pushes[0])") == 204)
        try await system.withDatabase(of: "devices") { database in
            for (index, push) in pushes.enumerated() {
                try await database.query(
                    """
                    UPDATE pushes SET send_at = now() - make_interval(secs => \(Double(1 - index)))
                    WHERE id = \(push)
                    """)
            }
        }
        #expect(try await caller.ended("\(pushes[1])").counts == ["accepted": 1])
        #expect(try await caller.status(of: "\(pushes[0])").state == .cancelled)
        #expect(try await caller.received(by: ada.token).map(\.text) == ["due"])
    }

    /// A push names users, sessions and devices. A phone that several of them name receives it once.
    @Test func aPhoneThatIsNamedTwiceReceivesAPushOnce() async throws {
        let phone = try await caller.recipient()
        let devices = try await journey.api.call("GET", "/v1/devices", bearer: phone.session.accessToken, body: nil)
        let device = try #require(try devices.decode(DeviceList.self).devices.first)
        let session = try await system.withDatabase(of: "devices") { database in
            try await database.query("SELECT session_id FROM devices WHERE id = \(device.id)")[0].decode(UUID.self)
        }
        let all = PushRequest.Targets(
            users: [phone.user], sessions: [session], devices: [.init(user: phone.user, device: device.id)])
        for targets in [all, .init(sessions: all.sessions), .init(devices: all.devices)] {
            #expect(try await caller.ended(caller.push(PushCaller.alert("", to: targets))).counts == ["accepted": 1])
        }
        #expect(try await caller.statuses(of: phone.token) == [200, 200, 200])
        let other = PushRequest.Targets(devices: [.init(user: UUID(), device: device.id)])
        let missed = try await caller.ended(caller.push(PushCaller.alert("", to: other)))
        #expect(missed.devices.map(\.reason) == ["noDevice"])
    }

    /// A token belongs to the user who registered it last. What was accepted for the former one never reaches it.
    @Test func aPhonesNewUserDoesNotReceiveItsFormerUsersPush() async throws {
        let (ada, bob) = (try await caller.recipient(), try await caller.recipient())
        try await caller.plan(.init(500, "InternalServerError"), for: ada.token, times: nil)
        let waiting = try await caller.push(PushCaller.alert("for Ada", to: ada.user))
        try await eventually("it waits") { try await caller.status(of: waiting).counts == ["retryAt": 1] }
        try await caller.register(PushCaller.Recipient(session: bob.session, token: ada.token))
        #expect(try await caller.ended(waiting).devices.map(\.reason) == ["sessionEnded"])
        try await caller.plan(.init(200), for: ada.token, times: nil)
        #expect(
            try await caller.ended(caller.push(PushCaller.alert("for Bob", to: bob.user))).counts == ["accepted": 2])
        #expect(try await caller.received(by: ada.token).filter { $0.status == 200 }.map(\.text) == ["for Bob"])
    }

    /// An expiry causes no revocation. devices asks tokens when the session's known lifetime is over.
    @Test func nothingIsSentAfterASessionHasExpired() async throws {
        let (ada, bob) = (try await caller.recipient(), try await caller.recipient())
        let users = PushRequest.Targets(users: [ada.user, bob.user])
        #expect(try await caller.ended(caller.push(PushCaller.alert("first", to: users))).counts == ["accepted": 2])
        try await system.withDatabase(of: "tokens") { database in
            try await database.query("UPDATE sessions SET expires_at = now() WHERE user_id = \(ada.user)")
        }
        try await system.withDatabase(of: "devices") { database in
            try await database.query(
                "UPDATE devices SET live_until = now() WHERE user_id IN (\(ada.user), \(bob.user))")
        }
        // If tokens takes longer than 0.3 s to answer, the session counts as live, and the next push asks again.
        try await eventually("the session counts as ended") {
            let push = try await caller.ended(caller.push(PushCaller.alert("second", to: users)))
            #expect(push.devices.first { $0.user == bob.user }?.state == .accepted)
            return push.devices.first { $0.user == ada.user }?.reason == "sessionEnded"
        }
    }

    @Test func anOperatorPushesFromAShell() async throws {
        let ada = try await caller.recipient()
        let words = ["push", "--user", ada.user.uuidString, "--title", "Hello", "--body", "from the shell"]
        let output = try await system.process("devices").run(words)
        #expect(output.split(separator: "\n").last?.hasSuffix("\t1") == true, "\(output)")
        try await eventually("it arrives") { try await caller.statuses(of: ada.token) == [200] }
        #expect(try await caller.received(by: ada.token).allSatisfy { $0.payload.contains("from the shell") })
    }

    /// The replica's knowledge of ended sessions grows old. It goes on for a time, then waits, and sends once tokens is
    /// back.
    @Test func withoutTokensPushesGoOnForATimeAndThenWait() async throws {
        let ada = try await caller.recipient()
        try await withOneReplica(settings: ["DEVICES_REVOCATION_MAX_STALENESS": "30"]) { replica in
            func push(_ text: String) async throws -> String {
                try await caller.push(PushCaller.alert(text, to: ada.user), through: replica)
            }
            func arrives(_ push: String) async throws {
                #expect(try await caller.ended(push, through: replica).counts == ["accepted": 1])
            }
            try await arrives(try await push("with tokens"))
            await system.process("tokens").kill()
            try await arrives(try await push("without tokens"))
            try await eventually("the feed was not read for so long") {
                let readAt = try #require(
                    try await replica.metric("devices_revocation_feed_read_timestamp_seconds"))
                return Date.now.timeIntervalSince1970 - readAt > 31
            }
            let log = try await caller.statuses(of: ada.token)
            let later = try await push("later")
            try await eventually("the push waits") {
                try await caller.status(of: later, through: replica).devices.map(\.reason) == ["paused"]
            }
            #expect(try await caller.statuses(of: ada.token) == log)
            try await system.process("tokens").start()
            try await arrives(later)
        }
    }

    @Test("A session ends while the link to tokens is cut: pushes go on until the link is back, and no longer")
    func sessionEndWithoutLink() async throws {
        let ada = try await caller.recipient()
        try await withTCPProxy(to: system.process("tokens").url.port ?? 0) { link in
            try await withOneReplica(settings: ["DEVICES_TOKENS_URL": "http://127.0.0.1:\(link.port)"]) { replica in
                func counts(_ text: String) async throws -> [String: Int] {
                    let push = try await caller.push(PushCaller.alert(text, to: ada.user), through: replica)
                    return try await caller.ended(push, through: replica).counts
                }
                #expect(try await counts("with the link") == ["accepted": 1])
                link.sever()
                try await end(ada.session, by: .logout)
                #expect(try await counts("without the link") == ["accepted": 1])
                link.join()
                try await eventually("the phone is no target", every: .milliseconds(50)) {
                    try await counts("").isEmpty
                }
                let sent = try await caller.received(by: ada.token).count
                for _ in 0..<3 { #expect(try await counts("").isEmpty) }
                #expect(try await caller.received(by: ada.token).count == sent)
            }
        }
    }

    /// Runs `body` with this replica of devices alone.
    private func withOneReplica(
        settings: [String: String], _ body: (ServiceProcess) async throws -> Void
    ) async throws {
        try await runFinally {
            try await system.withReplica(of: "devices", settings: settings) { replica in
                try await replica.start()
                await system.process("devices").kill()
                try await body(replica)
            }
        } finally: {
            for name in ["tokens", "devices"] {
                await system.process(name).kill()
                try await system.process(name).start()
            }
        }
    }

    enum End: CaseIterable {
        case logout, theft, passwordReset, deletion, consentRevoked
    }

    @Test("A session ends while pushes are sent: nothing more reaches its phone", arguments: End.allCases)
    func sessionEnd(by end: End) async throws {
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
                if let push = try? await caller.push(PushCaller.alert("tick", to: phone.user)) { pushes.append(push) }
                try? await Task.sleep(for: .milliseconds(50))
            }
            return pushes
        }
        try await eventually("pushes arrive") { try await caller.statuses(of: phone.token).count >= 3 }
        try await self.end(session, by: end, email: email, apple: apple)
        try await eventually("the phone is no target") {
            try await caller.post("", PushCaller.alert("tick", to: phone.user)).decode(PushAccepted.self).devices == 0
        }
        // While pushes go on.
        let sent = try await whenStill("Apple receives no more") { try await caller.received(by: phone.token).count }
        pushing.cancel()
        for push in await pushing.value { _ = try await caller.ended(push) }
        #expect(try await caller.received(by: phone.token).count == sent)
    }

    private func end(
        _ session: AuthResponse, by end: End, email: String = "", apple: Journey.AppleSignInAnswer? = nil
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
                json: try await journey.appleNotification(
                    .init(type: "consent-revoked", sub: try #require(apple).sub)))
        }
        #expect((200..<300).contains(answer.status), "\(answer.text)")
    }
}
