import Foundation
import GatehouseServiceContracts
import Synchronization
import TestKit
import Testing

/// Pushes of every kind under faults of every kind, until ``end``, and the comparison of their outcomes with what the
/// simulated APNs has received.
struct PushSoak: Sendable {
    let caller: PushCaller
    /// Users who sign out, one after the other.
    let leaving: [PushCaller.Recipient]
    let staying: [PushCaller.Recipient]
    /// Some of ``staying``.
    let segment: [PushCaller.Recipient]
    /// The segment.
    let targets: PushRequest.Targets
    let channel: PushChannel
    let end: ContinuousClock.Instant
    private let interruptions = Interruptions()
    private var system: GatehouseSystem { caller.system }

    // MARK: - Pushes

    struct Sent: Sendable {
        enum Kind: Sendable {
            case user(PushCaller.Recipient)
            case segment
            case broadcast

            var name: String {
                switch self {
                case .user: "user"
                case .segment: "segment"
                case .broadcast: "broadcast"
                }
            }
        }

        var kind: Kind
        var doubt = PushDoubt.repeat
        var id = ""
        var text: String
        /// Milliseconds since 1970.
        var cancelledAt: Int?
    }

    private static let concurrentRequests = 12
    private static let requestTimeout = Duration.seconds(3)

    func pushes(through replicas: [ServiceProcess]) async throws -> [Sent] {
        try await withThrowingTaskGroup(of: [Sent].self) { group in
            for number in 0..<Self.concurrentRequests {
                group.addTask {
                    var sent: [Sent] = []
                    repeat {
                        // The first choices of the callers contain every kind.
                        let choice = sent.isEmpty ? number : Int.random(in: 0..<20)
                        sent.append(try await push("push \(number)-\(sent.count)", choice, through: replicas))
                    } while ContinuousClock.now < end
                    return sent
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private func push(_ text: String, _ choice: Int, through replicas: [ServiceProcess]) async throws -> Sent {
        let recipients = leaving + staying
        var push = Sent(kind: .user(recipients[Int.random(in: 0..<recipients.count)]), text: text)
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
                let status = try? await caller.delete("/\(push.id)", through: replica, within: Self.requestTimeout)
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
            let answer = try? await post(push, key: key, through: replicas[Int.random(in: 0..<replicas.count)])
            if answer?.status == 202 { id = try answer?.decode(PushAccepted.self).id }
            return id != nil
        }
        return try #require(id)
    }

    private func post(
        _ push: Sent, key: String, through replica: ServiceProcess
    ) async throws -> TestHTTPClient.Response {
        var request: PushRequest
        switch push.kind {
        case .user(let recipient): request = PushCaller.alert(push.text, to: recipient.user)
        case .segment: request = PushCaller.alert(push.text, to: targets)
        case .broadcast:
            let content = JSONValue.object(["text": .string(push.text)])
            let aps: [VerbatimString: JSONValue] = [
                "event": .string("update"), "timestamp": .integer(1), "content-state": content,
            ]
            let payload = JSONValue.object(["aps": .object(aps)])
            return try await caller.post(
                "/channels/\(channel.id)/publish", PushBroadcast(payload: payload, onDoubt: push.doubt), key: key,
                through: replica, within: Self.requestTimeout)
        }
        request.onDoubt = push.doubt
        return try await caller.post("", request, key: key, through: replica, within: Self.requestTimeout)
    }

    private static var now: Int { Int(Date.now.timeIntervalSince1970 * 1000) }

    // MARK: - Sessions

    struct End: Sendable {
        /// When the session had ended and what had failed was back, in milliseconds since 1970.
        var time: Int
        /// How late tasks of this process ran in the two seconds from then, in milliseconds.
        var lag: Int
    }

    /// Signs users out, and pushes to each one for two seconds more.
    ///
    /// - Returns: the ends, by device token.
    func endSessions(through replicas: [ServiceProcess]) async throws -> [String: End] {
        var ended: [String: End] = [:]
        for (index, recipient) in leaving.enumerated() {
            try await Task.sleep(for: (end - .now) / (leaving.count + 1 - index))
            let logout = LogoutRequest(refreshToken: recipient.session.refreshToken)
            try await eventually("the session has ended", within: .seconds(120)) {
                (try? await caller.journey.api.call("POST", "/v1/auth/logout", json: logout))?.status == 204
            }
            interruptions.pause()
            try await eventually("what had failed is back", within: .seconds(120)) { !interruptions.isUnderWay }
            ended[recipient.token] = try await SchedulingLag.watch { lag in
                let time = Self.now
                while Self.now < time + 2000 {
                    let replica = replicas[Int.random(in: 0..<replicas.count)]
                    _ = try? await caller.post(
                        "", PushCaller.alert("leaving", to: recipient.user), through: replica,
                        within: Self.requestTimeout)
                    try? await Task.sleep(for: .milliseconds(50))
                }
                return End(time: time, lag: Int(lag.forgiven / .milliseconds(1)))
            }
            interruptions.resume()
        }
        return ended
    }

    /// Whether a fault interrupts a process or a link. None may in the two seconds after the end of a session.
    private final class Interruptions: Sendable {
        private let state = Mutex((isUnderWay: false, isPaused: false))
        /// When replicas went on whose leases had ended, in milliseconds since 1970.
        private let resumptions = Mutex<[Int]>([])

        func replicaResumes() {
            resumptions.withLock { $0.append(PushSoak.now) }
        }

        /// A replica may be stopped after it has checked a push's time, and before it writes the push.
        func wasWrittenOnResumption(_ time: Int) -> Bool {
            resumptions.withLock { $0.contains { (0...1000).contains(time - $0) } }
        }

        var isUnderWay: Bool { state.withLock { $0.isUnderWay } }

        func pause() {
            state.withLock { $0.isPaused = true }
        }

        func resume() {
            state.withLock { $0.isPaused = false }
        }

        func beginUnlessPaused() -> Bool {
            state.withLock { state in
                state.isUnderWay = !state.isPaused
                return state.isUnderWay
            }
        }

        func end() {
            state.withLock { $0.isUnderWay = false }
        }
    }

    // MARK: - Faults

    /// - Returns: how often each fault was injected.
    func injectFaults(into replicas: [ServiceProcess], links: [TCPProxy]) async throws -> [String: Int] {
        var faults: [String: Int] = [:]
        while ContinuousClock.now < end {
            let fault: String
            if Bool.random(), interruptions.beginUnlessPaused() {
                defer { interruptions.end() }
                fault = try await interrupt(
                    replicas[Int.random(in: 0..<replicas.count)], links[Int.random(in: 0..<links.count)])
            } else {
                fault = try await disturbAPNs()
            }
            faults[fault, default: 0] += 1
            try await Task.sleep(for: .milliseconds(300))
        }
        try await caller.inject(.init(mode: "none"))
        try await caller.plan(.init(200), for: nil, times: nil)
        return faults
    }

    private func interrupt(_ replica: ServiceProcess, _ link: TCPProxy) async throws -> String {
        let apple = system.process("apple-simulator")
        switch Int.random(in: 0..<20) {
        case 0...3:
            await replica.kill()
            try await replica.start()
            return "replica killed"
        case 4...6:
            await replica.suspend()
            try await Task.sleep(for: .seconds(2))
            replica.resume()
            return "replica stopped"
        case 7 where end - .now > .seconds(60):
            await replica.suspend()
            try await Task.sleep(for: .seconds(32))
            interruptions.replicaResumes()
            replica.resume()
            return "replica stopped for longer than its leases"
        case 7...9:
            await system.process("tokens").kill()
            try await system.process("tokens").start()
            return "tokens killed"
        case 10, 11:
            await system.postgres.kill()
            try await system.postgres.restart()
            return "PostgreSQL killed"
        case 12, 13:
            await system.postgres.freeze()
            try await Task.sleep(for: .seconds(2))
            await system.postgres.thaw()
            return "PostgreSQL stopped"
        case 14...16:
            link.sever()
            try await Task.sleep(for: .seconds(2))
            link.join()
            return "link cut"
        case 17, 18:
            await apple.kill()
            try await apple.start()
            return "APNs killed"
        default:
            await apple.suspend()
            try await Task.sleep(for: .seconds(2))
            apple.resume()
            return "APNs stopped"
        }
    }

    private func disturbAPNs() async throws -> String {
        let recipients = leaving + staying
        let phone = recipients[Int.random(in: 0..<recipients.count)].token
        let modes = [
            "goAway", "reset", "streams", "window", "stall", "halfClose", "headers", "unfinished", "late", "reorder",
            "silent", "cutBefore", "cutUnanswered", "cutAfter",
        ]
        switch Int.random(in: 0..<modes.count + 4) {
        case 0:
            try await caller.plan(.init(503, "ServiceUnavailable"), for: nil, times: 5)
            return "503"
        case 1:
            try await caller.plan(.init(500, "InternalServerError"), for: phone)
            return "500"
        case 2:
            try await caller.plan(.init(429, "TooManyRequests", retryAfter: 1), for: phone)
            return "429"
        case 3:
            // Later than a send's deadline.
            try await caller.inject(.init(mode: "late", times: 1, delay: 30))
            return "late by 30 s"
        case let other:
            var fault = PushCaller.Fault(mode: modes[other - 4], times: 3, delay: 0.5)
            // REFUSED_STREAM, INTERNAL_ERROR, ENHANCE_YOUR_CALM; all streams, the first, and the newest.
            if fault.mode == "reset" { fault.code = [7, 2, 11][Int.random(in: 0..<3)] }
            if fault.mode == "goAway" { fault.lastStreamId = [2_147_483_647, 1, nil][Int.random(in: 0..<3)] }
            try await caller.inject(fault)
            return fault.mode
        }
    }

    // MARK: - Comparison

    /// Compares APNs' log with the recorded outcomes, row by row.
    func compare(_ sent: [Sent], _ ended: [String: End]) async throws {
        var statuses: [PushStatus] = []
        for push in sent { statuses.append(try await caller.ended(push.id, within: .seconds(180))) }
        let received = try await caller.received()
        for (token, end) in ended {
            let late = latest(received.filter { $0.token == token && $0.status != nil }) - end.time
            #expect(late <= 2000 + end.lag, "APNs received a push \(late) ms after its session had ended")
        }
        let log = Dictionary(grouping: received, by: \.text)
        for (push, status) in zip(sent, statuses) {
            let entries = log[push.text] ?? []
            let successes = entries.filter { $0.status == 200 }
            if let cancelledAt = push.cancelledAt {
                // A replica that had read it by then, or APNs, was stopped for two seconds.
                let late = latest(entries) - cancelledAt
                #expect(late <= Self.longestStop, "\(push) was sent \(late) ms after it was cancelled")
            }
            if push.doubt == .drop {
                let most = Dictionary(grouping: successes, by: \.token).values.map(\.count).max() ?? 0
                #expect(most <= 1, "\(push) was repeated")
            }
            for (token, entries) in Dictionary(grouping: entries, by: \.token) {
                #expect(Set(entries.map(\.id)).count == 1, "\(push) has several ids for \(token)")
            }
            switch push.kind {
            case .segment: expectSegment(push, status, successes)
            case .broadcast: expectOne(push, status.devices.first, successes)
            case .user(let recipient):
                #expect(entries.allSatisfy { $0.token == recipient.token })
                // The session had ended before the push was accepted.
                if ended[recipient.token] != nil, status.devices.isEmpty, entries.isEmpty { continue }
                if status.devices.first?.state == .suppressed {
                    #expect(ended[recipient.token] != nil && status.devices.first?.reason == "sessionEnded", "\(push)")
                } else {
                    expectOne(push, status.devices.first, successes)
                }
            }
        }
        report(sent, statuses, log, ended)
    }

    /// When APNs read the last of them, but for those that had waited in the kernel while it did not read.
    private func latest(_ entries: [PushCaller.Received]) -> Int {
        entries.filter { !$0.wasStalled }.map(\.time).max() ?? 0
    }

    private func expectOne(_ push: Sent, _ target: PushStatus.Entry?, _ successes: [PushCaller.Received]) {
        guard let target else {
            Issue.record("\(push) has no outcome")
            return
        }
        switch target.state {
        case .accepted:
            #expect(successes.count >= 1, "\(push) was recorded as accepted")
            // APNs, when it was stopped, read the first sending after its repetition.
            let recorded = Int(target.at.timeIntervalSince1970 * 1000) + Self.longestStop
            let late = latest(successes) - recorded
            #expect(late <= 0, "\(push) was repeated \(late) ms after its success")
        case .cancelled: #expect(push.cancelledAt != nil, "\(push)")
        case .inDoubt: #expect(isInDoubtRightly(push, target), "\(push): \(target)")
        default: Issue.record("\(push): \(target)")
        }
        // Each repetition is one of a push that was in doubt, which counts as an attempt.
        #expect(successes.count <= max(1, target.attempts), "\(push) was repeated after its success")
    }

    /// The first one and five repetitions: a push that never has an answer is then repeated no more.
    private static let mostSendings = 6
    /// Milliseconds: two seconds, and what a busy machine adds.
    private static let longestStop = 2000 + Int(SchedulingLag.mostForgiven / .milliseconds(1))

    private func isInDoubtRightly(_ push: Sent, _ target: PushStatus.Entry) -> Bool {
        target.reason == "noAnswer" && (push.doubt == .drop || target.attempts >= Self.mostSendings)
    }

    private func expectSegment(_ push: Sent, _ status: PushStatus, _ successes: [PushCaller.Received]) {
        let (accepted, doubted) = (status.counts["accepted", default: 0], status.counts["inDoubt", default: 0])
        #expect(accepted + doubted == segment.count, "\(push): \(status.counts)")
        let sendings = Dictionary(grouping: successes, by: \.token)
        #expect(Set(sendings.keys).isSubset(of: segment.map(\.token)) && sendings.count >= accepted, "\(push)")
        guard push.doubt == .repeat else { return }
        #expect(doubted == status.devices.count { $0.state == .inDoubt && $0.attempts >= Self.mostSendings }, "\(push)")
        for recipient in segment {
            // A page is read again after its lease of 30 s. Other repetitions are attempts of a row.
            let times = (sendings[recipient.token] ?? [])
                .filter { !$0.wasStalled && !interruptions.wasWrittenOnResumption($0.time) }.map(\.time).sorted()
            let early = zip(times, times.dropFirst()).count { $1 - $0 < 15_000 }
            let attempts = status.devices.first { $0.user == recipient.user }?.attempts ?? 0
            #expect(early <= attempts, "\(push) was repeated after its success: \(times), \(attempts) attempts")
        }
    }

    private func report(
        _ sent: [Sent], _ statuses: [PushStatus], _ log: [String: [PushCaller.Received]], _ ended: [String: End]
    ) {
        var states: [String: [String: Int]] = [:]
        for (push, status) in zip(sent, statuses) {
            states[push.kind.name, default: [:]].merge(status.counts, uniquingKeysWith: +)
        }
        for kind in ["user", "segment", "broadcast"] {
            #expect(states[kind]?["accepted", default: 0] ?? 0 > 0, "no \(kind) was accepted")
        }
        let repeated = log.values.reduce(0) { sum, entries in
            let successes = Dictionary(grouping: entries.filter { $0.status == 200 }, by: \.token)
            return sum + successes.values.reduce(0) { $0 + $1.count - 1 }
        }
        print("\(sent.count) pushes under faults: \(states); \(repeated) repeated, \(ended.count) sessions ended")
    }
}
