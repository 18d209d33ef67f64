import Contracts
import Foundation
import Synchronization
import TestKit
import Testing

/// Pushes while the processes, links and servers that they need fail.
@Suite(.gatehouse(settings: ["DEVICES_PUSH_RETRY_DELAY": "1"]), .serialized) struct PushFaultTests {
    let caller = PushCaller()
    var system: GatehouseSystem { caller.system }

    enum Failure {
        case killed
        /// For longer than its leases last.
        case stopped
    }

    /// A replica fails when Apple has its pushes and has not answered. Another one takes over what was in doubt.
    @Test(arguments: [Failure.killed, .stopped])
    func anotherReplicaTakesOver(whenOneIs failure: Failure) async throws {
        let user = try await caller.recipient()
        var phones = [user.token]
        while phones.count < 20 { phones.append(try await caller.recipient(user.session).token) }
        let segment = try await caller.segment(of: [user.user])
        // Apple accepts the tokens, and then has the connection for such tokens verified, which may use all its streams.
        for targets in [segment, segment, .init(users: [user.user])] {
            #expect(try await caller.ended(caller.push(PushCaller.alert("", to: targets))).counts == ["accepted": 20])
        }

        try await caller.inject(.init(mode: "silent"))
        var pushes: [(id: String, text: String, doubt: PushDoubt)] = []
        for (text, targets, doubt) in [
            ("segment", segment, PushDoubt.repeat), ("segment once", segment, .drop),
            ("user", .init(users: [user.user]), .repeat), ("user once", .init(users: [user.user]), .drop),
        ] {
            var request = PushCaller.alert("\(failure) \(text)", to: targets)
            request.onDoubt = doubt
            pushes.append((try await caller.push(request), "\(failure) \(text)", doubt))
        }
        var received: Set<String> = []
        try await eventually("Apple has some of each: \(received)") {
            received = Set(try await caller.received().map(\.text))
            return pushes.allSatisfy { received.contains($0.text) }
        }
        let replica = system.process("devices")
        if failure == .killed { await replica.kill() } else { await replica.suspend() }
        try await caller.inject(.init(mode: "none"))
        try await system.withReplica(of: "devices") { other in
            try await other.start()
            for push in pushes {
                let counts = try await caller.ended(push.id, within: .seconds(120), through: other).counts
                let entries = Dictionary(
                    grouping: try await caller.received().filter { $0.text == push.text }, by: \.token)
                let accepted = counts["accepted", default: 0]
                #expect(accepted + counts["inDoubt", default: 0] == 20, "\(push): \(counts)")
                switch push.doubt {
                case .drop: #expect(accepted < 20 && entries.values.allSatisfy { $0.count == 1 }, "\(push)")
                case .repeat: #expect(accepted == 20 && entries.count == 20, "\(push)")
                }
                #expect(entries.values.allSatisfy { $0.count <= 2 && Set($0.map(\.id)).count == 1 }, "\(push)")
            }
        }
        let sent = try await caller.received().count
        if failure == .killed { try await replica.start() } else { replica.resume() }
        // What it held before its lease ended is sent no more.
        var last: String?
        try await eventually("it takes pushes again") {
            let answer = try await caller.post("", PushCaller.alert("\(failure) last", to: user.user))
            if answer.status == 202 { last = try answer.decode(PushAccepted.self).id }
            return last != nil
        }
        #expect(try await caller.ended(#require(last)).counts == ["accepted": 20])
        #expect(try await caller.received().count == sent + 20)
    }

    /// Replicas of devices, tokens, PostgreSQL, the simulated APNs and the links of a replica are killed, stopped and
    /// cut at random. Each push that was accepted reaches its phone or has a recorded reason, none twice after its
    /// success was recorded, and none later than two seconds after the end of its session, or after the return of what
    /// had failed at that moment. `GATEHOUSE_PUSH_SECONDS=300` for the soak test.
    @Test func noAcceptedPushIsLostOrRepeatedUnderFaults() async throws {
        let seconds = ProcessInfo.processInfo.environment["GATEHOUSE_PUSH_SECONDS"].flatMap(Int.init) ?? 15
        let recipients = try await caller.recipients(20 + seconds / 10)
        let (leaving, staying) = (recipients.dropLast(20), recipients.suffix(20))
        let soak = PushSoak(
            caller: caller, recipients: recipients, segment: staying.suffix(10).map(\.token),
            targets: try await caller.segment(of: staying.suffix(10).map(\.user)), channel: try await caller.channel(),
            end: .now + .seconds(seconds))
        let ports = (tokens: system.process("tokens").url.port ?? 0, postgres: system.postgres.port)
        try await withTCPProxy(to: ports.tokens) { tokens in
            try await withTCPProxy(to: ports.postgres) { postgres in
                let database = (system.databases["devices"] ?? "").replacing(
                    ":\(ports.postgres)/", with: ":\(postgres.port)/")
                let settings = [
                    "DEVICES_TOKENS_URL": "http://127.0.0.1:\(tokens.port)", "DEVICES_DATABASE_URL": database,
                ]
                try await system.withReplica(of: "devices", settings: settings) { second in
                    try await second.start()
                    let replicas = [system.process("devices"), second]
                    let (sent, ended, lag) = try await SchedulingLag.watch { lag in
                        async let faults: Void = soak.injectFaults(into: replicas, links: [tokens, postgres])
                        async let ended = soak.endSessions(of: leaving)
                        let sent = try await soak.pushes(through: replicas)
                        try await faults
                        return (sent, try await ended, lag.allowance)
                    }
                    try await soak.compare(sent, ended, lag: lag)
                }
            }
        }
    }
}

extension PushCaller.Received {
    /// The push's text, in an alert or in an update of a Live Activity.
    fileprivate var text: String {
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

/// Pushes of every kind under faults of every kind, until ``end``.
private struct PushSoak: Sendable {
    let caller: PushCaller
    let recipients: [PushCaller.Recipient]
    /// The tokens of a segment of users whose sessions last.
    let segment: [String]
    /// The segment.
    let targets: PushRequest.Targets
    let channel: PushChannel
    let end: ContinuousClock.Instant
    private let stops = Stops()
    private var system: GatehouseSystem { caller.system }

    init(
        caller: PushCaller, recipients: [PushCaller.Recipient], segment: [String], targets: PushRequest.Targets,
        channel: PushChannel, end: ContinuousClock.Instant
    ) {
        (self.caller, self.recipients, self.segment) = (caller, recipients, segment)
        (self.targets, self.channel, self.end) = (targets, channel, end)
    }

    // MARK: - Pushes

    struct Sent: Sendable {
        enum Kind {
            case user(PushCaller.Recipient)
            case segment
            case broadcast
        }

        var kind: Kind
        var doubt = PushDoubt.repeat
        var id = ""
        var text: String
        /// Milliseconds since 1970.
        var cancelledAt: Int?
    }

    private static let callers = 4

    func pushes(through replicas: [ServiceProcess]) async throws -> [Sent] {
        try await withThrowingTaskGroup(of: [Sent].self) { group in
            for number in 0..<Self.callers {
                group.addTask {
                    var sent: [Sent] = []
                    while ContinuousClock.now < end {
                        sent.append(try await push("push \(number)-\(sent.count)", through: replicas))
                    }
                    return sent
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private func push(_ text: String, through replicas: [ServiceProcess]) async throws -> Sent {
        let recipient = recipients[Int.random(in: 0..<recipients.count)]
        var push = Sent(kind: .user(recipient), text: text)
        let choice = Int.random(in: 0..<20)
        switch choice {
        case 0, 1: push.kind = .segment
        case 2, 3: push.kind = .broadcast
        default: break
        }
        if choice % 2 == 1 { push.doubt = .drop }
        push.id = try await accepted(push, through: replicas)
        if choice == 4 || choice == 5 {
            try await eventually("the push is cancelled", within: .seconds(120)) {
                let replica = replicas[Int.random(in: 0..<replicas.count)]
                let status = try? await caller.delete("/\(push.id)", through: replica, within: .seconds(3))
                return status == 204
            }
            push.cancelledAt = Self.now
        }
        return push
    }

    /// A caller repeats a request without an answer under its key. A stopped replica does not answer.
    private func accepted(_ push: Sent, through replicas: [ServiceProcess]) async throws -> String {
        let key = UUID().uuidString
        var id: String?
        try await eventually("the push is accepted", within: .seconds(120)) {
            let replica = replicas[Int.random(in: 0..<replicas.count)]
            let answer = try? await post(push, key: key, through: replica)
            if answer?.status == 202 { id = try answer?.decode(PushAccepted.self).id }
            return id != nil
        }
        return try #require(id)
    }

    private func post(
        _ push: Sent, key: String, through replica: ServiceProcess
    ) async throws -> TestHTTPClient.Response {
        let limit = Duration.seconds(3)
        if case .broadcast = push.kind {
            let content = JSONContent.object(["text": .string(push.text)])
            let payload = JSONContent.object(["aps": .object(["event": .string("update"), "content-state": content])])
            let broadcast = PushBroadcast(payload: payload, onDoubt: push.doubt)
            return try await caller.post(
                "/channels/\(channel.id)/publish", broadcast, key: key, through: replica, within: limit)
        }
        var request =
            if case .user(let recipient) = push.kind {
                PushCaller.alert(push.text, to: recipient.user)
            } else {
                PushCaller.alert(push.text, to: targets)
            }
        request.onDoubt = push.doubt
        return try await caller.post("", request, key: key, through: replica, within: limit)
    }

    private static var now: Int { Int(Date.now.timeIntervalSince1970 * 1000) }

    // MARK: - Sessions

    /// Signs users out. Returns from when nothing more may be sent to each one but for two seconds, in milliseconds
    /// since 1970.
    func endSessions(of recipients: ArraySlice<PushCaller.Recipient>) async throws -> [String: Int] {
        var ended: [String: Int] = [:]
        for (index, recipient) in recipients.enumerated() {
            try await Task.sleep(for: (end - .now) / (recipients.count + 1 - index))
            let logout = LogoutRequest(refreshToken: recipient.session.refreshToken)
            try await eventually("the session has ended", within: .seconds(120)) {
                try await caller.journey.api.call("POST", "/v1/auth/logout", json: logout).status == 204
            }
            stops.hold(true)
            try await eventually("what had failed has returned", within: .seconds(120)) { !stops.isUnderWay }
            ended[recipient.token] = Self.now
            try await Task.sleep(for: .seconds(2))
            stops.hold(false)
        }
        return ended
    }

    /// What faults stop and cut. Nothing is in the two seconds after a session's end that are judged.
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

    // MARK: - Faults

    func injectFaults(into replicas: [ServiceProcess], links: [TCPProxy]) async throws {
        while ContinuousClock.now < end {
            if Bool.random(), stops.begin() {
                defer { stops.end() }
                try await stop(replicas[Int.random(in: 0..<replicas.count)], links[Int.random(in: 0..<links.count)])
            } else {
                try await disturbAPNs()
            }
            try await Task.sleep(for: .milliseconds(300))
        }
        try await caller.inject(.init(mode: "none"))
        try await caller.plan(.init(200), for: nil, times: nil)
    }

    private func stop(_ replica: ServiceProcess, _ link: TCPProxy) async throws {
        let apple = system.process("apple-simulator")
        switch Int.random(in: 0..<20) {
        case 0...3:
            await replica.kill()
            try await replica.start()
        case 4...6:
            await replica.suspend()
            try await Task.sleep(for: .seconds(2))
            replica.resume()
        case 7 where end - .now > .seconds(60):
            // Longer than its leases last.
            await replica.suspend()
            try await Task.sleep(for: .seconds(32))
            replica.resume()
        case 7...9:
            await system.process("tokens").kill()
            try await system.process("tokens").start()
        case 10, 11:
            await system.postgres.kill()
            try await system.postgres.restart()
        case 12, 13:
            await system.postgres.freeze()
            try await Task.sleep(for: .seconds(2))
            await system.postgres.thaw()
        case 14...16:
            link.sever()
            try await Task.sleep(for: .seconds(2))
            link.join()
        case 17, 18:
            await apple.kill()
            try await apple.start()
        default:
            await apple.suspend()
            try await Task.sleep(for: .seconds(2))
            apple.resume()
        }
    }

    private func disturbAPNs() async throws {
        let phone = recipients[Int.random(in: 0..<recipients.count)].token
        let modes = [
            "goAway", "reset", "streams", "window", "stall", "halfClose", "headers", "unfinished", "late", "reorder",
            "silent", "cutBefore", "cutUnanswered", "cutAfter",
        ]
        switch Int.random(in: 0..<modes.count + 4) {
        case 0: try await caller.plan(.init(503, "ServiceUnavailable"), for: nil, times: 5)
        case 1: try await caller.plan(.init(500, "InternalServerError"), for: phone)
        case 2: try await caller.plan(.init(429, "TooManyRequests", retryAfter: 1), for: phone)
        case 3:
            // Later than a send's deadline.
            try await caller.inject(.init(mode: "late", times: 1, delay: 30))
        case let other:
            var fault = PushCaller.Fault(mode: modes[other - 4], times: 3, delay: 0.5)
            // REFUSED_STREAM, INTERNAL_ERROR, ENHANCE_YOUR_CALM; all streams, some, and the newest.
            if fault.mode == "reset" { fault.code = [7, 2, 11][Int.random(in: 0..<3)] }
            if fault.mode == "goAway" { fault.lastStreamId = [2_147_483_647, 1, nil][Int.random(in: 0..<3)] }
            try await caller.inject(fault)
        }
    }

    // MARK: - Judgement

    /// Compares APNs' log with the recorded outcomes, row by row.
    func compare(_ sent: [Sent], _ ended: [String: Int], lag: Duration) async throws {
        let late = Int(min(lag * 4, SchedulingLag.mostForgiven) / .milliseconds(1))
        var statuses: [PushStatus] = []
        for push in sent { statuses.append(try await caller.ended(push.id, within: .seconds(180))) }
        let log = Dictionary(grouping: try await caller.received(), by: \.text)
        for (push, status) in zip(sent, statuses) {
            let entries = log[push.text] ?? []
            let successes = entries.filter { $0.status == 200 }
            if let cancelledAt = push.cancelledAt {
                // A page was read by then, and stopped with its replica, or was in the kernel of a stopped process.
                let latest = entries.map(\.time).max() ?? 0
                #expect(
                    latest <= cancelledAt + 3000 + late, "\(push) was sent \(latest - cancelledAt) ms after its end")
            }
            if push.doubt == .drop {
                let mostOfAPhone = Dictionary(grouping: successes, by: \.token).values.map(\.count).max() ?? 0
                #expect(mostOfAPhone <= 1, "\(push) was repeated")
            }
            switch push.kind {
            case .segment: expectSegment(push, status, successes)
            case .broadcast: expectOne(push, status.devices.first, successes)
            case .user(let recipient):
                #expect(entries.allSatisfy { $0.token == recipient.token } && Set(entries.map(\.id)).count <= 1)
                if let endedAt = ended[recipient.token] {
                    let latest = entries.filter { $0.status != nil }.map(\.time).max() ?? 0
                    let allowed = 2000 + late
                    #expect(
                        latest <= endedAt + allowed, "\(push) was sent \(latest - endedAt) ms after the session's end")
                    // The session had ended before the push was accepted.
                    if status.devices.isEmpty && entries.isEmpty { continue }
                }
                expectOne(push, status.devices.first, successes)
            }
        }
        report(sent, statuses, log, ended)
    }

    private func expectOne(_ push: Sent, _ target: PushStatus.Entry?, _ successes: [PushCaller.Received]) {
        guard let target else {
            Issue.record("\(push) has no outcome")
            return
        }
        switch target.state {
        case .accepted: #expect(successes.count >= 1, "\(push) was recorded as accepted")
        case .cancelled: #expect(push.cancelledAt != nil)
        default: #expect(target.reason != nil, "\(push) is \(target.state.rawValue)")
        }
        // Each repetition is one of a push that was in doubt, which counts as an attempt.
        #expect(successes.count <= max(1, target.attempts), "\(push) was repeated after its success")
        if target.state == .accepted {
            // What was in the kernel when the simulator was stopped comes later than its repetition.
            let recorded = Int(target.at.timeIntervalSince1970 * 1000) + 2500
            let latest = successes.map(\.time).max() ?? 0
            #expect(latest <= recorded, "\(push) was repeated \(latest - recorded) ms after its success")
        }
    }

    private func expectSegment(_ push: Sent, _ status: PushStatus, _ successes: [PushCaller.Received]) {
        let (accepted, doubted) = (status.counts["accepted", default: 0], status.counts["inDoubt", default: 0])
        let phones = Set(successes.map(\.token))
        #expect(accepted + doubted == segment.count, "\(push): \(status.counts)")
        #expect(phones.isSubset(of: segment) && phones.count >= accepted, "\(push): \(status.counts)")
    }

    private func report(
        _ sent: [Sent], _ statuses: [PushStatus], _ log: [String: [PushCaller.Received]], _ ended: [String: Int]
    ) {
        let states = statuses.reduce(into: [String: Int]()) { $0.merge($1.counts, uniquingKeysWith: +) }
        let repeated = log.values.reduce(0) { sum, entries in
            let successes = Dictionary(grouping: entries.filter { $0.status == 200 }, by: \.token)
            return sum + successes.values.reduce(0) { $0 + $1.count - 1 }
        }
        print(
            "\(sent.count) pushes under faults: \(states); \(repeated) repeated, \(ended.count) sessions ended"
        )
    }
}
