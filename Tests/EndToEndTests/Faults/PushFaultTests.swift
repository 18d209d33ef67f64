import Foundation
import GatehouseServiceContracts
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

    private struct Push {
        var id: String
        var text: String
        var doubt: PushDoubt
    }

    /// A replica fails when Apple has its pushes and has not answered. Another one takes over what was in doubt.
    @Test(arguments: [Failure.killed, .stopped])
    func anotherReplicaTakesOver(whenOneIs failure: Failure) async throws {
        let phones = try await caller.phones(20)
        let user = phones[0].user
        let segment = try await caller.segment(of: [user])
        let pushes = try await inFlight([
            ("segment", segment, .repeat), ("segment once", segment, .drop),
            ("user", .init(users: [user]), .repeat), ("user once", .init(users: [user]), .drop),
        ])
        let replica = system.process("devices")
        if failure == .killed { await replica.kill() } else { await replica.suspend() }
        try await caller.inject(.init(mode: "none"))
        try await system.withReplica(of: "devices") { other in
            try await other.start()
            for push in pushes {
                let counts = try await caller.ended(push.id, within: .seconds(120), through: other).counts
                let received = try await caller.received().filter { $0.text == push.text }
                let entries = Dictionary(grouping: received, by: \.token)
                let accepted = counts["accepted", default: 0]
                #expect(accepted + counts["inDoubt", default: 0] == 20, "\(push): \(counts)")
                switch push.doubt {
                case .drop: #expect(accepted < 20 && entries.values.allSatisfy { $0.count == 1 }, "\(push)")
                case .repeat: #expect(accepted == 20 && Set(entries.keys) == Set(phones.map(\.token)), "\(push)")
                }
                #expect(entries.values.allSatisfy { $0.count <= 2 && Set($0.map(\.id)).count == 1 }, "\(push)")
            }
        }
        let sent = try await caller.received().count { $0.text != "last" }
        if failure == .killed { try await replica.start() } else { replica.resume() }
        // What the replica held before its lease ended is sent no more.
        let (last, key) = (PushCaller.alert("last", to: user), UUID().uuidString)
        var id: String?
        try await eventually("the replica takes pushes again") {
            let answer = try? await caller.post("", last, key: key)
            if answer?.status == 202 { id = try answer?.decode(PushAccepted.self).id }
            return id != nil
        }
        #expect(try await caller.ended(#require(id)).counts == ["accepted": 20])
        let received = try await caller.received().filter { $0.text != "last" }
        #expect(received.count == sent, "\(received.dropFirst(sent))")
    }

    /// Of a push to named users no more is claimed than Apple takes at once.
    @Test func aCrashLeavesNoMoreInDoubtThanThereAreStreams() async throws {
        let user = try await caller.phones(20)[0].user
        let pushes = try await inFlight([("user", .init(users: [user]), .drop)], streams: 3)
        await system.process("devices").kill()
        try await caller.inject(.init(mode: "none"))
        try await system.withReplica(of: "devices") { other in
            try await other.start()
            let counts = try await caller.ended(pushes[0].id, within: .seconds(120), through: other).counts
            let doubted = counts["inDoubt", default: 0]
            // A pool has at most three connections for such pushes, and claims one push for another connection.
            #expect((1...10).contains(doubted) && counts["accepted"] == 20 - doubted, "\(counts)")
        }
        try await system.process("devices").start()
    }

    /// Sends pushes to the 20 phones of a user, and returns when Apple has some of each and answers none.
    ///
    /// - Parameter streams: what Apple takes at once on each connection.
    private func inFlight(
        _ wanted: [(text: String, targets: PushRequest.Targets, doubt: PushDoubt)], streams: Int? = nil
    ) async throws -> [Push] {
        for _ in 0..<5 {
            try await caller.inject(.init(mode: "none"))
            if let streams { try await caller.inject(.init(mode: "streams", count: streams)) }
            // Apple accepts the tokens, and then a first request on the connection for such tokens, which may use all
            // its streams from then on.
            for (_, targets, _) in wanted + wanted {
                #expect(
                    try await caller.ended(caller.push(PushCaller.alert("", to: targets))).counts == ["accepted": 20])
            }
            try await caller.inject(.init(mode: "silent"))
            let start = ContinuousClock.now
            var pushes: [Push] = []
            for (text, targets, doubt) in wanted {
                let text = "\(text) \(UUID())"
                var request = PushCaller.alert(text, to: targets)
                request.onDoubt = doubt
                pushes.append(Push(id: try await caller.push(request), text: text, doubt: doubt))
            }
            var received: Set<String> = []
            try await eventually("Apple has some of each: \(received)") {
                received = Set(try await caller.received().map(\.text))
                return pushes.allSatisfy { received.contains($0.text) }
            }
            // A replica that is stopped while it writes a batch to its connection sends the rest when it goes on.
            _ = try await whenStill("Apple receives no more") { try await caller.received().count }
            // After 10 s the replica itself decides on a push without an answer.
            if ContinuousClock.now - start < .seconds(7) { return pushes }
            try await caller.inject(.init(mode: "none"))
            for push in pushes { _ = try await caller.ended(push.id) }
        }
        throw TestKitError("Apple did not have some of each push within 7 s, in five attempts")
    }

    /// Replicas of devices, tokens, PostgreSQL and the simulated APNs are killed or stopped, and links are cut, at
    /// random. Each accepted push reaches its phone or has a recorded reason. None is repeated after its success was
    /// recorded, or sent later than two seconds after its session has ended and the failed parts are back.
    /// `GATEHOUSE_PUSH_SECONDS=300` for the soak test.
    @Test func noAcceptedPushIsLostOrRepeatedUnderFaults() async throws {
        let seconds = ProcessInfo.processInfo.environment["GATEHOUSE_PUSH_SECONDS"].flatMap(Int.init) ?? 15
        let (leaving, staying) = (try await caller.recipients(seconds / 10), try await caller.recipients(20))
        let segment = Array(staying.suffix(10))
        let (targets, channel) = (try await caller.segment(of: segment.map(\.user)), try await caller.channel())
        let (tokensPort, postgresPort) = (system.process("tokens").url.port ?? 0, system.postgres.port)
        try await withTCPProxy(to: tokensPort) { tokens in
            try await withTCPProxy(to: postgresPort) { postgres in
                let database = (system.databases["devices"] ?? "").replacing(
                    ":\(postgresPort)/", with: ":\(postgres.port)/")
                let settings = [
                    "DEVICES_TOKENS_URL": "http://127.0.0.1:\(tokens.port)", "DEVICES_DATABASE_URL": database,
                ]
                try await system.withReplica(of: "devices", settings: settings) { second in
                    try await second.start()
                    let soak = PushSoak(
                        caller: caller, leaving: leaving, staying: staying, segment: segment, targets: targets,
                        channel: channel, end: .now + .seconds(seconds))
                    let replicas = [system.process("devices"), second]
                    async let faults = soak.injectFaults(into: replicas, links: [tokens, postgres])
                    async let ended = soak.endSessions(through: replicas)
                    let sent = try await soak.pushes(through: replicas)
                    print("faults: \(try await faults)")
                    try await soak.compare(sent, ended)
                }
            }
        }
    }
}
