import Foundation
import GatehouseServiceContracts

/// What many registrations change: the cost of a look-up by user, and how soon and with how much memory devices sends
/// to a segment. Among the many also how soon an urgent push reaches the simulated APNs beside a push to all of them.
struct PushScaleBenchmark {
    let push: PushBenchmark
    let schedule: Schedule
    /// The many.
    let registrations: Int

    private static let few = 100_000
    private static let workers = 8
    private static let segmentSeconds = 10
    private static let urgentPushes = 300
    private static let urgentInterval = Duration.milliseconds(10)
    /// By which the urgent pushes are found among those of the segment.
    private static let collapseID = "urgent"

    private var system: RunningSystem { push.system }

    func run() async throws {
        guard registrations > Self.few else {
            throw BenchmarkError("there must be more than \(Self.few) registrations")
        }
        let table = try await DeviceTable.open(system)
        try await table.fill(to: Self.few)
        let small = try await lines(Self.few)
        try await table.fill(to: registrations, present: Self.few)
        let large = try await lines(registrations)
        await table.close()
        for (few, many) in zip(small, large) {
            let ratio = Table.ratio(many.microsecondsInAll / few.microsecondsInAll)
            Table.note("\(many.name): \(ratio) times as much as among \(Self.few)")
        }
        Table.note("Target of the look-up: 1.25")
        try await urgent("beside a push to \(registrations), target 50")
        try await urgent("the same, a connection stalled, target 200", stallsConnection: true)
    }

    private func lines(_ count: Int) async throws -> [Measurement] {
        Table.header("Among \(count) registrations")
        try await system.checkpoint()
        let lines = [try await lookUp(among: count), try await dryRun(among: count), try await segment(of: count)]
        return lines
    }

    private func lookUp(among count: Int) async throws -> Measurement {
        let line = try await measure(
            "look-up by user", workers: Array(repeating: (), count: Self.workers),
            watching: system.processes("devices", "postgres"), schedule: schedule
        ) { _ in
            let number = Int.random(in: 1...count)
            let user = DeviceTable.user(number)
            let body = try await push.send(
                "GET", "/v1/devices", String?.none, push.gatewayFields(user, .session(of: user)))
            guard try JSON.decode(DeviceList.self, from: body).devices.count == 1 else {
                throw BenchmarkError("user \(number) has no device")
            }
        }
        Table.line(line)
        return line
    }

    private func dryRun(among count: Int) async throws -> Measurement {
        let line = try await measure(
            "dry run of a push to a user", workers: Array(repeating: (), count: Self.workers),
            watching: system.processes("devices", "postgres"), schedule: schedule
        ) { _ in
            var request = push.request(to: .init(users: [DeviceTable.user(.random(in: 1...count))]))
            request.dryRun = true
            guard try await push.accept(request).devices == 1 else { throw BenchmarkError("a user has no device") }
        }
        Table.line(line)
        return line
    }

    // MARK: - Segments

    /// Sends to all registrations for some seconds.
    private func segment(of count: Int) async throws -> Measurement {
        let processes = try system.processes("devices", "postgres")
        let idle = try processes[0].privateMemory()
        let (id, delay) = try await startSegment()
        let before = try (processes.map { try $0.cpuTime() }, await devices(of: id))
        let start = ContinuousClock.now
        var most = idle
        while .now < start + .seconds(Self.segmentSeconds) {
            most = max(most, try processes[0].privateMemory())
            try await Task.sleep(for: .milliseconds(100))
        }
        let after = try (processes.map { try $0.cpuTime() }, await devices(of: id))
        let line = Measurement(
            name: "a push to a segment, for each device", operations: after.1 - before.1, elapsed: .now - start,
            cpu: zip(processes, zip(before.0, after.0)).map { ($0.name, $1.1 - $1.0) })
        try await push.cancel(id)
        Table.line(line)
        Table.note(
            "Its first request was at APNs \(Table.number(delay)) ms after the 202 (target 1000). Devices has "
                + "\(Table.number(Double(idle) / 1e6)) MB of private memory before, at most "
                + "\(Table.number(Double(most) / 1e6)) MB meanwhile (target 40)")
        return line
    }

    /// - Returns: the push's id, and the milliseconds from its 202 to its first request.
    private func startSegment() async throws -> (id: String, delay: Double) {
        var received = ReceivedPushes(to: push)
        try await received.skipToEnd()
        let id = try await push.push(to: .init(segment: .init()))
        let acceptedAt = Date.now
        while true {
            if let first = try await received.next(1).first { return (id, first.time - acceptedAt.milliseconds) }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func devices(of id: String) async throws -> Int { try await push.status(of: id).slices?.devices ?? 0 }

    // MARK: - Urgent pushes

    private struct Sent {
        var token: String
        var requestedAt: Double
        var acceptedAt: Double
    }

    /// When urgent pushes to users reach APNs while a push to all registrations is sent.
    private func urgent(_ name: String, stallsConnection: Bool = false) async throws {
        let (segment, _) = try await startSegment()
        // Opens the connection of urgent pushes.
        _ = try await sendUrgent(10)
        if stallsConnection { try await stallUrgentConnection() }
        var received = ReceivedPushes(to: push)
        try await received.skipToEnd()
        let sent = try await sendUrgent(Self.urgentPushes)
        try await push.cancel(segment)
        let arrivals = try await arrivals(of: sent, &received)
        if stallsConnection { try await fault("none") }
        func quantiles(_ start: (Sent) -> Double) -> (p50: Double, p99: Double) {
            let times = sent.map { max(0, (arrivals[$0.token] ?? .infinity) - start($0)) }.sorted()
            return (times[times.count / 2], times[times.count * 99 / 100])
        }
        let (response, request) = (quantiles(\.acceptedAt), quantiles(\.requestedAt))
        Table.note(
            "Urgent pushes \(name): from the 202 to APNs p99 \(Table.number(response.p99)) ms (median "
                + "\(Table.number(response.p50))), from the request \(Table.number(request.p99)) ms (median "
                + "\(Table.number(request.p50)))")
    }

    /// At an even rate, each to another user.
    private func sendUrgent(_ count: Int) async throws -> [Sent] {
        let start = ContinuousClock.now
        let numbers = (0..<count).map { _ in Int.random(in: 1...registrations) }
        return try await withThrowingTaskGroup { group in
            for (index, number) in Set(numbers).enumerated() {
                group.addTask {
                    try await Task.sleep(until: start + Self.urgentInterval * index)
                    return try await sendUrgent(to: number)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func sendUrgent(to number: Int) async throws -> Sent {
        var request = push.request(to: .init(users: [DeviceTable.user(number)]))
        request.urgency = .urgent
        request.collapseId = Self.collapseID
        let requestedAt = Date.now
        try await push.accept(request)
        return Sent(
            token: DeviceTable.token(number), requestedAt: requestedAt.milliseconds, acceptedAt: Date.now.milliseconds)
    }

    /// The connection that the next urgent push uses. Devices notices it by pushes without an answer.
    private func stallUrgentConnection() async throws {
        let number = Int.random(in: 1...registrations)
        try await fault("stall", token: DeviceTable.token(number))
        _ = try await sendUrgent(to: number)
        var received = ReceivedPushes(to: push)
        try await received.skipToEnd()
        let sent = try await sendUrgent(10)
        guard try await arrivals(of: sent, &received, within: .milliseconds(300)).count < sent.count else {
            throw BenchmarkError("no connection was stalled")
        }
    }

    private func fault(_ mode: String, token: String? = nil) async throws {
        var fault = ["mode": mode]
        fault["token"] = token
        try await push.send("POST", "/simulator/apns-fault", fault, to: "APPLE_SIMULATOR_URL")
    }

    /// When each push arrived, in milliseconds since 1970, by its token.
    private func arrivals(
        of sent: [Sent], _ received: inout ReceivedPushes, within duration: Duration = .seconds(30)
    ) async throws -> [String: Double] {
        let deadline = ContinuousClock.now + duration
        var missing = Set(sent.map(\.token))
        var arrivals: [String: Double] = [:]
        while !missing.isEmpty, .now < deadline {
            let pushes = try await received.next()
            for push in pushes where push.collapseId == Self.collapseID {
                if missing.remove(push.token) != nil { arrivals[push.token] = push.time }
            }
            if pushes.isEmpty { try await Task.sleep(for: .milliseconds(100)) }
        }
        return arrivals
    }
}

extension Date {
    /// Since 1970.
    fileprivate var milliseconds: Double { timeIntervalSince1970 * 1000 }
}
