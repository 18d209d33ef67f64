import Testing

@testable import Postgres

/// The pool's rules, step by step, with numbers for connections and names for callers.
@Suite struct PoolStateTests {
    private let start = ContinuousClock.now
    private let refused = PostgresError(.connectionFailed, "refused")

    // MARK: Opening and leasing

    @Test func opensOneConnectionForEachCallerUpToTheMaximum() {
        var pool = TestPool { $0.maximumConnections = 2 }
        #expect(pool.admit("first") == ["open"])
        #expect(pool.admit("second") == ["open"])
        #expect(pool.admit("third") == [])
        #expect(pool.opened(1) == ["1 to first"])
        #expect(pool.opened(2) == ["2 to second"])
        #expect(pool.release(1) == ["1 to third"])
        #expect(pool.release(2) == [])
        #expect(pool.state.lease(usesReserve: false)?.member.connection == 2)
    }

    @Test func aBrokenConnectionIsReplacedForThoseWhoWait() {
        var pool = TestPool { $0.maximumConnections = 1 }
        #expect(pool.admit("first") == ["open"])
        #expect(pool.opened(1) == ["1 to first"])
        #expect(pool.admit("second") == [])
        #expect(pool.release(1, .closed) == ["close 1", "open"])
        #expect(pool.opened(2) == ["2 to second"])
    }

    @Test func anOldConnectionDoesNotComeBack() {
        var pool = TestPool()
        pool.lease(1)
        pool.now += .seconds(60)
        #expect(pool.release(1) == ["close 1"])
    }

    @Test func theQueueIsBoundedAndEndsInTime() {
        var pool = TestPool { ($0.queueLimit, $0.maximumConnections) = (2, 1) }
        pool.lease(1)
        #expect(pool.admit("first", waits: .seconds(2)) == [])
        #expect(pool.admit("second", waits: .seconds(1)) == [])
        #expect(pool.admit("third") == ["refuse third: pool_exhausted"])
        pool.now += .seconds(1)
        #expect(pool.expire() == ["refuse second: pool_exhausted"])
        #expect(pool.state.remove(waiting: 2) == "first")
        #expect(pool.state.remove(waiting: 2) == nil)
    }

    @Test("A caller times out while a connection is being opened: the connection failed, the pool is not exhausted")
    func timeoutWhileOpening() {
        var pool = TestPool()
        #expect(pool.admit("first", waits: .seconds(1)) == ["open"])
        pool.now += .seconds(1)
        #expect(pool.expire() == ["refuse first: connection_failed"])
    }

    @Test func idleConnectionsAreTrimmedToTheMinimum() {
        var pool = TestPool { $0.minimumConnections = 1 }
        for connection in 1...3 {
            _ = pool.admit("\(connection)")
            _ = pool.opened(connection, expiresIn: .seconds(connection == 3 ? 100 : 1000))
        }
        for connection in 1...3 { #expect(pool.release(connection) == []) }
        #expect(pool.maintain(after: .seconds(99)) == [])
        #expect(pool.maintain(after: .seconds(1)) == ["close 3"])
        #expect(pool.maintain(after: .seconds(200)) == ["close 1"])
        #expect(pool.state.idle.map(\.member.connection) == [2])
    }

    @Test func theMinimumIsOpenedWithoutCallers() {
        var pool = TestPool { $0.minimumConnections = 2 }
        #expect(pool.maintain() == ["open 2"])
        #expect(pool.opened(1) == [])
        #expect(pool.maintain() == [])
    }

    @Test func aClosedPoolRefusesAndClosesWhatComesBack() {
        var pool = TestPool { $0.maximumConnections = 3 }
        pool.lease(1)
        pool.lease(2)
        #expect(pool.release(2, .unanswered) == ["drain 2"])
        #expect(pool.admit("third") == ["open"])
        #expect(pool.change { $0.close() } == ["refuse third: closed", "undrain 2"])
        #expect(pool.admit("fourth") == ["refuse fourth: closed"])
        #expect(pool.opened(3) == ["close 3"])
        #expect(pool.release(1, .unanswered) == ["close 1"])
        #expect(pool.maintain() == [])
    }

    // MARK: A server that is away

    @Test("The server is away: callers are refused, and one attempt at a time is made")
    func attemptsWhileTheServerIsAway() {
        var pool = TestPool()
        #expect(pool.admit("first") == ["open"])
        #expect(pool.fails(refused) == ["refuse first: connection_failed"])
        // During the pause no caller waits, and the pool tries nothing.
        #expect(pool.admit("second") == ["refuse second: connection_failed"])
        #expect(pool.maintain() == [])
        // After it one caller waits for the next attempt; the others are refused.
        pool.now += .milliseconds(50)
        #expect(pool.admit("third") == ["open"])
        #expect(pool.admit("fourth") == ["refuse fourth: connection_failed"])
        #expect(pool.opened(1) == ["1 to third"])
        #expect(!pool.state.isFailing)
        #expect(pool.admit("fifth") == ["open"])
    }

    @Test func anAttemptIsMadeWithoutCallersToo() {
        var pool = TestPool()
        _ = pool.admit("first")
        _ = pool.fails(refused)
        #expect(pool.maintain(after: .milliseconds(50)) == ["open"])
    }

    @Test func pausesGrowUpToALimitAndVary() {
        var pool = TestPool()
        _ = pool.admit("first")
        for pause in [50, 100, 200, 400, 500, 500] {
            _ = pool.fails(refused, jitter: 0.5)
            #expect(pool.maintain(after: .milliseconds(pause) / 2 - .microseconds(1)) == [])
            #expect(pool.maintain(after: .microseconds(2)) == ["open"])
        }
    }

    @Test func callersKeepWaitingWhileAConnectionMayComeBack() {
        var pool = TestPool()
        pool.lease(1)
        #expect(pool.admit("second") == ["open"])
        #expect(pool.fails(refused) == [])
        #expect(pool.admit("third") == [])
        #expect(pool.release(1) == ["1 to second"])
    }

    // MARK: What was given up

    @Test func aConnectionWithoutAnswerCounts() {
        var pool = TestPool { $0.maximumConnections = 2 }
        pool.lease(1)
        pool.lease(2)
        #expect(pool.release(1, .unanswered) == ["drain 1"])
        #expect(pool.admit("third") == [])
        // When nothing is left that could come back, another server is looked for.
        #expect(pool.release(2, .unanswered) == ["drain 2", "open elsewhere"])
        #expect(pool.fails(.noOtherServer) == ["refuse third: connection_failed"])
        #expect(pool.admit("fourth") == ["refuse fourth: connection_failed"])
        // An answer makes room at once.
        pool.now += .milliseconds(10)
        #expect(pool.drained(1) == [])
        #expect(pool.admit("fifth") == ["open"])
        #expect(pool.opened(3) == ["3 to fifth"])
        #expect(pool.state.total == 2)
    }

    @Test("A server is stuck and another one takes writes: its connections replace those of the first")
    func replacementOfAStuckServer() {
        var pool = TestPool { $0.maximumConnections = 2 }
        pool.lease(1)
        pool.lease(2)
        #expect(pool.release(1, .unanswered) == ["drain 1"])
        #expect(pool.release(2, .unanswered) == ["drain 2"])
        #expect(pool.admit("third") == ["open elsewhere"])
        #expect(pool.opened(3, at: "second") == ["3 to third", "undrain 1", "undrain 2"])
        #expect(pool.drained(1) == [])
        #expect(pool.admit("fourth") == ["open, second first"])
        #expect(pool.opened(4, at: "second") == ["4 to fourth"])
        #expect(pool.state.total == 2)
    }

    @Test func theSameServerAtAnotherAddressIsNoOtherServer() {
        var pool = TestPool { $0.maximumConnections = 1 }
        pool.lease(1)
        #expect(pool.release(1, .unanswered) == ["drain 1"])
        #expect(pool.admit("second") == ["open elsewhere"])
        let again = pool.opened(2, at: "alias", of: "first")
        #expect(again == ["close 2", "refuse second: connection_failed"])
        pool.now += .milliseconds(50)
        // From now on both addresses are tried after all others.
        #expect(pool.admit("third") == ["open elsewhere"])
        #expect(pool.triedLast == ["alias", "first"])
    }

    @Test func whatComesBackFromAFormerServerIsClosed() {
        var pool = TestPool { $0.maximumConnections = 4 }
        for connection in 1...2 { pool.lease(connection) }
        #expect(pool.admit("third") == ["open"])
        #expect(pool.admit("fourth") == ["open"])
        #expect(pool.opened(3, at: "second") == ["3 to third"])
        #expect(pool.release(1) == ["close 1"])
        #expect(pool.release(2, .unanswered) == ["close 2"])
        // The attempt began before the second server was found.
        #expect(pool.opened(4, at: "first", openedAt: start) == ["close 4", "open, second first"])
    }

    // MARK: A server that is silent

    @Test("A server does not answer: the pool leaves it on all connections")
    func silentServer() {
        var pool = TestPool()
        for connection in 1...3 { pool.lease(connection) }
        #expect(pool.release(1) == [])
        #expect(pool.release(2) == [])
        pool.asks(3)
        pool.now += .seconds(1)
        #expect(pool.release(3, .unanswered) == ["close 1", "close 2", "drain 3", "silent"])
        #expect(pool.admit("next") == ["open, first last"])
        #expect(pool.opened(4) == ["4 to next"])
        #expect(pool.release(4) == [])
    }

    @Test func aConnectionInUseIsNotUsedAgainAfterTheSilence() {
        var pool = TestPool()
        for connection in 1...2 { pool.lease(connection) }
        pool.asks(1)
        pool.now += .seconds(1)
        #expect(pool.release(1, .unanswered) == ["drain 1"])
        #expect(pool.release(2) == ["close 2"])
    }

    @Test func aSlowStatementIsNoSilenceWhileOthersAreAnswered() {
        var pool = TestPool()
        for connection in 1...3 { pool.lease(connection) }
        #expect(pool.release(3) == [])
        pool.asks(1)
        pool.now += .milliseconds(900)
        pool.hears(2)
        #expect(pool.release(2) == [])
        pool.now += .milliseconds(100)
        #expect(pool.release(1, .unanswered) == ["drain 1"])
        #expect(pool.state.idle.count == 2)
    }

    @Test func severalShortWaitsMakeASilence() {
        var pool = TestPool()
        for connection in 1...4 { pool.lease(connection) }
        #expect(pool.release(4) == [])
        for connection in 1...2 {
            pool.asks(connection)
            pool.now += .milliseconds(300)
            #expect(pool.release(connection, .unanswered) == ["drain \(connection)"])
        }
        pool.asks(3)
        pool.now += .milliseconds(300)
        #expect(pool.release(3, .unanswered) == ["close 4", "drain 3", "silent"])
    }

    @Test("A failover: connections to the former primary are not used again")
    func connectionsAfterAFailover() {
        var pool = TestPool()
        pool.lease(1)
        pool.lease(2)
        #expect(pool.release(1) == [])
        pool.now += .seconds(1)
        let now = pool.now
        #expect(pool.change { $0.retire(TestPool.server("first"), now: now) } == ["close 1"])
        #expect(pool.change { $0.retire(TestPool.server("second"), now: now) } == [])
        #expect(pool.release(2) == ["close 2"])
        pool.now += .seconds(1)
        #expect(pool.admit("third") == ["open, first last"])
        #expect(pool.opened(3) == ["3 to third"])
        #expect(pool.release(3) == [])
    }

    // MARK: The reserve

    @Test func requestsLeaveTheReserve() {
        var pool = TestPool { ($0.maximumConnections, $0.reservedConnections) = (3, 1) }
        #expect(pool.admit("first") == ["open"])
        #expect(pool.admit("second") == ["open"])
        #expect(pool.admit("third") == [])
        #expect(pool.opened(1) == ["1 to first"])
        #expect(pool.opened(2) == ["2 to second"])
        #expect(pool.admit("probe", usesReserve: true) == ["open"])
        #expect(pool.opened(3) == ["3 to probe"])
        // A second one goes before the request that came first.
        #expect(pool.admit("feed", usesReserve: true) == [])
        #expect(pool.release(1) == ["1 to feed"])
        #expect(pool.release(3) == ["3 to third"])
        #expect(pool.release(1) == [])
        #expect(pool.admit("fourth") == [])
        #expect(pool.admit("probe", usesReserve: true) == ["1 to probe"])
    }

    @Test func whatRequestsGaveUpDoesNotTakeTheReserve() {
        var pool = TestPool { ($0.maximumConnections, $0.reservedConnections) = (2, 1) }
        pool.lease(1)
        #expect(pool.release(1, .unanswered) == ["drain 1"])
        #expect(pool.admit("second") == ["open elsewhere"])
        #expect(pool.fails(.noOtherServer) == ["refuse second: connection_failed"])
        pool.now += .milliseconds(50)
        #expect(pool.admit("probe", usesReserve: true) == ["open"])
        #expect(pool.opened(2) == ["2 to probe"])
        #expect(pool.release(2) == [])
        #expect(pool.admit("third") == ["open elsewhere"])
        #expect(pool.fails(.noOtherServer) == ["refuse third: connection_failed"])
        #expect(pool.admit("probe", usesReserve: true) == ["2 to probe"])
    }

    // MARK: All together

    /// Every sequence of eleven kinds of events, six long, from a pool in use. However it comes, the pool stays within
    /// its limits, no caller waits that could be served, and each caller is answered once.
    @Test func everyShortHistoryKeepsTheLimits() {
        var histories = 0
        func explore(_ pool: TestPool, _ left: Int) {
            if left == 0 {
                histories += 1
                return
            }
            for event in TestPool.Event.allCases {
                var next = pool
                guard next.apply(event) else { continue }
                let complaints = next.complaints
                guard complaints.isEmpty else {
                    Issue.record("\(complaints) after \(next.history)")
                    return
                }
                explore(next, left - 1)
            }
        }
        for reserve in 0...1 {
            var pool = TestPool { ($0.maximumConnections, $0.reservedConnections) = (2 + reserve, reserve) }
            pool.lease(1)
            pool.lease(2)
            explore(pool, 6)
        }
        #expect(histories > 10_000)
    }
}

/// A pool's state with what a test needs to drive it.
private struct TestPool {
    typealias State = PoolState<Int, String>

    enum Event: CaseIterable {
        case request, probe, open, fail, find, findSame, findNone, release, giveUp, answer, wait
    }

    var state: State
    private let maximum: Int
    private let reserve: Int
    var now = ContinuousClock.now
    private(set) var history: [Event] = []
    /// The addresses that the last search leaves to the end.
    private(set) var triedLast: [String] = []
    private var leases: [Int: State.Lease] = [:]
    private var reports: [Int: ConnectionReport] = [:]
    private var members: [Int: State.Member] = [:]
    private var draining: [Int] = []
    private var undrained: Set<Int> = []
    private var callers = 0
    private var waiting: Set<String> = []

    init(_ change: (inout PostgresPoolConfiguration) -> Void = { _ in }) {
        var configuration = PostgresPoolConfiguration()
        change(&configuration)
        (maximum, reserve) = (configuration.maximumConnections, configuration.reservedConnections)
        state = State(configuration)
    }

    static func server(_ address: String, of name: String? = nil) -> ServerInstance {
        ServerInstance(address: ServerAddress(host: address), startedAt: Int64((name ?? address).utf8.count))
    }

    /// Has a caller lease connection `number`.
    mutating func lease(_ number: Int) {
        _ = admit("caller \(number)")
        _ = opened(number)
    }

    mutating func admit(
        _ name: String, usesReserve: Bool = false, waits time: Duration = .seconds(1)
    ) -> [String] {
        callers += 1
        waiting.insert(name)
        let caller = State.Waiting(
            id: UInt64(callers), deadline: now + time, usesReserve: usesReserve, waiter: name)
        return change { [now] in $0.admit(caller, now: now) }
    }

    mutating func opened(
        _ number: Int, at address: String = "first", of name: String? = nil,
        expiresIn lifetime: Duration = .seconds(60),
        openedAt: ContinuousClock.Instant? = nil, isSearch: Bool? = nil
    ) -> [String] {
        now += .microseconds(1)
        let member = State.Member(
            id: UInt64(number), connection: number, server: Self.server(address, of: name), openedAt: openedAt ?? now,
            expiresAt: now + lifetime)
        members[number] = member
        reports[number] = ConnectionReport(status: .idle, askedAt: now, heardAt: now)
        return change { [now] in $0.opened(member, isSearch: isSearch ?? $0.isSearching, now: now) }
    }

    mutating func fails(_ error: PostgresError, jitter: Double = 1, isSearch: Bool? = nil) -> [String] {
        change { [now] in
            $0.openingFailed(error, isSearch: isSearch ?? $0.isSearching, now: now, jitter: jitter)
        }
    }

    mutating func asks(_ number: Int) {
        now += .microseconds(1)
        reports[number]?.askedAt = now
    }

    mutating func hears(_ number: Int) { reports[number]?.heardAt = now }

    mutating func release(_ number: Int, _ status: ConnectionReport.Status = .idle) -> [String] {
        guard let lease = leases.removeValue(forKey: number), var report = reports[number] else { return ["none"] }
        report.status = status
        return change { [now] in $0.release(lease, report, now: now) }
    }

    mutating func drained(_ number: Int) -> [String] {
        guard let member = members[number] else { return ["none"] }
        draining.removeAll { $0 == number }
        return change { [now] in $0.drained(member, heardAt: now, now: now) }
    }

    mutating func maintain(after pause: Duration = .zero) -> [String] {
        now += pause
        return change { [now] in $0.maintain(now: now) }
    }

    mutating func expire() -> [String] { change { [now] in $0.expire(now: now) } }

    /// Changes the state and says what has to be done, in the order of the words.
    mutating func change(_ change: (inout State) -> State.Effects) -> [String] {
        let effects = change(&state)
        var words = effects.isSilent ? ["silent"] : []
        for (lease, waiter) in effects.leases {
            leases[lease.member.connection] = lease
            waiting.remove(waiter)
            words.append("\(lease.member.connection) to \(waiter)")
        }
        for (waiter, error) in effects.refusals {
            waiting.remove(waiter)
            words.append("refuse \(waiter): \(error.code)")
        }
        words += effects.closing.map { "close \($0.connection)" }
        words += effects.draining.map { "drain \($0.connection)" }
        draining += effects.draining.map(\.connection)
        words += effects.undraining.map { "undrain \($0.connection)" }
        undrained.formUnion(effects.undraining.map(\.connection))
        if let opening = effects.opening {
            let servers = opening.servers
            var word = opening.number == 1 ? "open" : "open \(opening.number)"
            if let first = servers.first?.host, first != "first" { word += ", \(first) first" }
            if let last = servers.last.first?.host { word += ", \(last) last" }
            words.append(word)
        }
        if let servers = effects.search {
            triedLast = servers.last.compactMap(\.host).sorted()
            words.append("open elsewhere")
        }
        return words.sorted()
    }

    /// Returns whether the event can happen now.
    mutating func apply(_ event: Event) -> Bool {
        history.append(event)
        now += .milliseconds(1)
        switch event {
        case .request: _ = admit("caller \(callers)")
        case .probe: _ = admit("caller \(callers)", usesReserve: true)
        case .open, .fail:
            guard state.opening > 0 else { return false }
            _ =
                event == .open
                ? opened(members.count + 1, isSearch: false)
                : fails(PostgresError(.connectionFailed, "refused"), isSearch: false)
        case .find, .findSame, .findNone:
            guard state.isSearching else { return false }
            _ =
                switch event {
                case .find: opened(members.count + 1, at: "second", isSearch: true)
                case .findSame: opened(members.count + 1, at: "alias", of: "first", isSearch: true)
                default: fails(.noOtherServer, isSearch: true)
                }
        case .release, .giveUp:
            guard let number = leases.keys.min() else { return false }
            asks(number)
            now += .milliseconds(500)
            _ = release(number, event == .release ? .idle : .unanswered)
        case .answer:
            guard let number = draining.first else { return false }
            _ = drained(number)
        case .wait:
            now += .milliseconds(600)
            _ = expire()
            _ = maintain()
        }
        return true
    }

    /// What is wrong.
    var complaints: [String] {
        var complaints: [String] = []
        if state.total > maximum { complaints.append("\(state.total) connections") }
        if state.leasedToRequests > maximum - reserve { complaints.append("requests have the reserve") }
        if state.leased != leases.count { complaints.append("\(state.leased) leased, \(leases.count) known") }
        if Set(state.waiting.map(\.waiter)) != waiting { complaints.append("callers are lost") }
        if Set(state.unanswered.map(\.connection)) != Set(draining).subtracting(undrained) {
            complaints.append("connections are lost")
        }
        let free = maximum - reserve - state.leasedToRequests - state.unanswered.count
        if let caller = state.waiting.first {
            if !state.idle.isEmpty, caller.usesReserve || free > 0 {
                complaints.append("a caller waits beside an idle")
            }
            // Something has to happen that serves the caller: a connection comes back, is opened, or will be tried.
            if state.leased == 0, state.opening == 0, state.unanswered.isEmpty, !state.isFailing {
                complaints.append("a caller waits for nothing")
            }
        }
        return complaints
    }
}
