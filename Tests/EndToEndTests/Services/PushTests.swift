import Contracts
import Foundation
import Synchronization
import TestKit
import Testing

/// Pushes from a service of the team's own to the simulated APNs, whose log says what the phones received.
@Suite(.gatehouse(settings: ["DEVICES_PUSH_RETRY_DELAY": "1"]), .serialized) struct PushTests {
    let caller = PushCaller()
    var system: GatehouseSystem { caller.system }
    var journey: Journey { caller.journey }

    @Test func aPushReachesThePhoneOfASessionThatLasts() async throws {
        let (ada, bob) = (try await caller.recipient(), try await caller.recipient())
        let accepted = try await caller.push("Your order", to: ada.session.user.id, through: system.process("devices"))
        #expect(accepted.status == 202, "\(accepted.text)")
        let id = try #require(try accepted.decode(PushAccepted.self).id)
        try await eventually("Apple has accepted the push") {
            try await caller.status(of: id).devices.map(\.state) == [.accepted]
        }
        #expect(try await caller.received().filter { $0.token == ada.token }.map(\.payload).count == 1)
        #expect(try await caller.received().allSatisfy { $0.token != bob.token })
        let phone = try await system.apple.get("/simulator/phone?token=\(ada.token)")
        #expect(phone.text.contains("Your order"))

        let logout = try await journey.api.call(
            "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: ada.session.refreshToken))
        #expect(logout.status == 204)
        try await eventually("nothing is sent to the user any more") {
            let answer = try await caller.push("Secret", to: ada.session.user.id, through: system.process("devices"))
            return try answer.decode(PushAccepted.self).devices == 0
        }
    }

    @Test func aBroadcastReachesItsChannel() async throws {
        let devices = TestHTTPClient(system.process("devices").url)
        let headers = [HeaderName.credential: SystemSettings.ordersCredential, "Idempotency-Key": UUID().uuidString]
        let path = "/internal/push/channels"
        let created = try await devices.post(
            path, json: PushChannelRequest(bundleId: "com.example.app", environment: .sandbox, storage: .noMessage),
            headers: headers)
        try #require(created.status == 201, "\(created.text)")
        let channel = try created.decode(PushChannel.self)
        let broadcast = PushBroadcast(payload: .object(["aps": .object(["event": .string("update")])]))
        let accepted = try await devices.post("\(path)/\(channel.id)/publish", json: broadcast, headers: headers)
        try #require(accepted.status == 202, "\(accepted.text)")
        let id = try #require(try accepted.decode(PushAccepted.self).id)
        try await eventually("Apple has accepted the broadcast") {
            try await caller.status(of: id).devices.map(\.state) == [.accepted]
        }
        #expect(try await caller.received().filter { $0.channel == channel.channelId }.map(\.status) == [200])
        let listed = try await devices.get("\(path)?bundleId=com.example.app&environment=sandbox", headers: headers)
        #expect(try listed.decode(PushChannelList.self).channels.contains(channel))
        #expect(try await devices.delete("\(path)/\(channel.id)", headers: headers).status == 204)
    }

    /// Replicas of devices, tokens, PostgreSQL and the simulated APNs are killed, stopped and cut at random. Each push that was
    /// accepted reaches its phone or has a recorded reason, none twice after its success was recorded, and none later
    /// than two seconds after the end of its session, or after the return of a process that was stopped at that moment.
    /// `GATEHOUSE_PUSH_SECONDS=300` for the soak test.
    @Test func noAcceptedPushIsLostOrRepeatedUnderFaults() async throws {
        let seconds = ProcessInfo.processInfo.environment["GATEHOUSE_PUSH_SECONDS"].flatMap(Int.init) ?? 15
        try await system.withReplica(of: "devices") { second in
            try await second.start()
            let replicas = [system.process("devices"), second]
            let recipients = try await caller.recipients(20)
            let end = ContinuousClock.now + .seconds(seconds)
            let stops = Stops()
            let (sent, ended, lag) = try await SchedulingLag.watch { lag in
                async let faults: Void = injectFaults(into: replicas, until: end, stops)
                async let ended = endSessions(of: recipients.prefix(5), until: end, stops)
                let sent = try await pushes(to: recipients, through: replicas, until: end)
                try await faults
                return (sent, try await ended, lag.allowance)
            }
            #expect(!sent.isEmpty)
            for push in sent {
                try await eventually("a push has ended") { try await caller.status(of: push.id).state == .done }
            }
            try await compare(sent, ended, lag: lag)
        }
    }

    private struct Sent: Sendable {
        var id: String
        var text: String
        var token: String
    }

    private func pushes(
        to recipients: [PushCaller.Recipient], through replicas: [ServiceProcess], until end: ContinuousClock.Instant
    ) async throws -> [Sent] {
        var sent: [Sent] = []
        while ContinuousClock.now < end {
            let recipient = recipients[Int.random(in: 0..<recipients.count)]
            let (text, key) = ("push \(sent.count)", UUID().uuidString)
            // A caller repeats a request without an answer under its key. A stopped replica does not answer.
            try await eventually("the push is accepted") {
                let replica = replicas[Int.random(in: 0..<replicas.count)]
                let answer = try? await caller.push(text, to: recipient.session.user.id, key: key, through: replica)
                guard let answer, answer.status == 202, let id = try answer.decode(PushAccepted.self).id else {
                    return false
                }
                sent.append(Sent(id: id, text: text, token: recipient.token))
                return true
            }
        }
        return sent
    }

    /// The processes that faults stop. None is stopped in the two seconds after a session's end that are judged.
    private final class Stops: Sendable {
        private let state = Mutex((isUnderWay: false, isHeld: false))

        var isUnderWay: Bool { state.withLock { $0.isUnderWay } }

        func hold(_ isHeld: Bool) {
            state.withLock { $0.isHeld = isHeld }
        }

        /// False while stops are held.
        func begin() -> Bool {
            state.withLock { state in
                state.isUnderWay = !state.isHeld
                return state.isUnderWay
            }
        }

        func end() {
            state.withLock { $0.isUnderWay = false }
        }
    }

    /// Signs users out. Returns from when nothing more may be sent to each one but for two seconds, in milliseconds
    /// since 1970.
    private func endSessions(
        of recipients: ArraySlice<PushCaller.Recipient>, until end: ContinuousClock.Instant, _ stops: Stops
    ) async throws -> [String: Int] {
        var ended: [String: Int] = [:]
        for recipient in recipients {
            try await Task.sleep(for: (end - .now) / 3)
            try await eventually("the session has ended") {
                try await journey.api.call(
                    "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: recipient.session.refreshToken)
                ).status == 204
            }
            stops.hold(true)
            try await eventually("the processes that were stopped have returned") { !stops.isUnderWay }
            ended[recipient.token] = Int(Date.now.timeIntervalSince1970 * 1000)
            try await Task.sleep(for: .seconds(2))
            stops.hold(false)
        }
        return ended
    }

    private func injectFaults(
        into replicas: [ServiceProcess], until end: ContinuousClock.Instant, _ stops: Stops
    ) async throws {
        struct Fault: Encodable {
            var mode: String
            var times: Int?
            var delay: Double?
        }
        func apns(_ mode: String, times: Int? = 3) async throws {
            let answer = try await system.apple.post(
                "/simulator/apns-fault", json: Fault(mode: mode, times: times, delay: 0.5))
            #expect(answer.status == 200, "\(answer.text)")
        }
        while ContinuousClock.now < end {
            if Bool.random(), stops.begin() {
                defer { stops.end() }
                let replica = replicas[Int.random(in: 0..<replicas.count)]
                switch Int.random(in: 0..<6) {
                case 0, 1:
                    await replica.kill()
                    try await replica.start()
                case 2:
                    await replica.suspend()
                    try await Task.sleep(for: .seconds(2))
                    replica.resume()
                case 3:
                    await system.process("tokens").kill()
                    try await system.process("tokens").start()
                case 4:
                    await system.postgres.kill()
                    try await system.postgres.restart()
                default:
                    await system.process("apple-simulator").suspend()
                    try await Task.sleep(for: .seconds(2))
                    system.process("apple-simulator").resume()
                }
            } else {
                let modes = [
                    "goAway", "reset", "halfClose", "late", "reorder", "window", "cutBefore", "cutUnanswered",
                    "cutAfter",
                ]
                try await apns(modes[Int.random(in: 0..<modes.count)])
            }
            try await Task.sleep(for: .milliseconds(300))
        }
        try await apns("none", times: nil)
    }

    /// Compares APNs' log with the recorded outcomes, row by row.
    private func compare(_ sent: [Sent], _ ended: [String: Int], lag: Duration) async throws {
        let log = Dictionary(grouping: try await caller.received(), by: \.payload)
        for push in sent {
            let target = try await caller.status(of: push.id).devices.first
            let entries = log[#"{"aps":{"alert":"\#(push.text)"}}"#] ?? []
            let successes = entries.count { $0.status == 200 }
            #expect(entries.allSatisfy { $0.token == push.token } && Set(entries.map(\.id)).count <= 1)
            guard let target else {
                // The session had ended before the push was accepted.
                #expect(ended[push.token] != nil && entries.isEmpty, "\(push)")
                continue
            }
            if target.state == .accepted {
                #expect(successes >= 1, "\(push) was recorded as accepted")
            } else {
                #expect(target.reason != nil, "\(push) is \(target.state.rawValue)")
            }
            // Each repetition is one of a push that was in doubt, which counts as an attempt.
            #expect(successes <= max(1, target.attempts), "\(push) was repeated after its success")
            if let end = ended[push.token] {
                let latest = entries.filter { $0.status != nil }.map(\.time).max() ?? 0
                let allowed = 2000 + Int((min(lag * 4, SchedulingLag.mostForgiven)) / .milliseconds(1))
                #expect(latest <= end + allowed, "\(push) was sent \(latest - end) ms after the session's end")
            }
        }
        let repeated = log.values.reduce(0) { $0 + max(0, $1.count { $0.status == 200 } - 1) }
        print("\(sent.count) pushes under faults, \(repeated) repeated after a doubt, \(ended.count) sessions ended")
    }
}
