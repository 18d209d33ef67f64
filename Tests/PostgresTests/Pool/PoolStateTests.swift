import Testing

@testable import Postgres

/// The pool's rules, step by step, with numbers for connections and names for callers.
@Suite struct PoolStateTests {
    private typealias State = PoolState<Int, String>
    private let start = ContinuousClock.now
    private let refused = PostgresError(.connectionFailed, "refused")

    @Test func opensOneConnectionForEachCallerUpToTheMaximum() {
        var state = state { $0.maximumConnections = 2 }
        #expect(state.lease() == nil)
        for (index, expected) in [1, 1, 0].enumerated() {
            #expect(admit("caller \(index)", &state) == "waits")
            #expect(state.startOpening(now: start) == expected)
        }
        #expect(describe(state.opened(member(1), now: start)) == "1 to caller 0")
        #expect(describe(state.opened(member(2), now: start)) == "2 to caller 1")
        #expect(describe(state.release(member(1), isReusable: true, now: start)) == "1 to caller 2")
        #expect(describe(state.release(member(2), isReusable: true, now: start)) == "keep")
        #expect(state.lease()?.connection == 2)
    }

    @Test func aBrokenConnectionIsReplacedForThoseWhoWait() {
        var state = state { $0.maximumConnections = 1 }
        _ = admit("first", &state)
        #expect(state.startOpening(now: start) == 1)
        _ = state.opened(member(1), now: start)
        _ = admit("second", &state)
        #expect(state.startOpening(now: start) == 0)
        #expect(describe(state.release(member(1), isReusable: false, now: start)) == "close 1")
        #expect(state.startOpening(now: start) == 1)
        #expect(describe(state.opened(member(2), now: start)) == "2 to second")
    }

    @Test func anOldConnectionDoesNotComeBack() {
        var state = leasedState()
        #expect(describe(state.release(member(1), isReusable: true, now: start + .seconds(60))) == "close 1")
    }

    @Test func theQueueIsBoundedAndEndsInTime() {
        var state = state { $0.queueLimit = 2 }
        #expect(admit("first", &state, deadline: start + .seconds(2)) == "waits")
        #expect(admit("second", &state, deadline: start + .seconds(1)) == "waits")
        #expect(admit("third", &state) == "refused: pool_exhausted")
        #expect(state.expire(now: start + .seconds(1)) == ["second"])
        #expect(state.remove(waiting: 1) == "first")
        #expect(state.remove(waiting: 1) == nil)
    }

    @Test func whileTheServerIsAwayCallersAreRefusedAndOneAttemptAtATimeIsMade() {
        var state = state { _ in }
        _ = admit("first", &state)
        #expect(state.startOpening(now: start) == 1)
        #expect(state.openingFailed(refused, now: start, jitter: 1) == ["first"])
        // During the pause nobody waits and nothing is tried.
        #expect(admit("second", &state) == "refused: connection_failed")
        #expect(state.startOpening(now: start) == 0)
        // After it one caller waits for the next attempt; the others are refused.
        let later = start + .milliseconds(50)
        #expect(admit("third", &state, now: later) == "waits")
        #expect(state.startOpening(now: later) == 1)
        #expect(admit("fourth", &state, now: later) == "refused: connection_failed")
        #expect(state.startOpening(now: later) == 0)
        #expect(describe(state.opened(member(1), now: later)) == "1 to third")
        #expect(!state.isFailing)
        #expect(admit("fifth", &state, now: later) == "waits")
    }

    @Test func anAttemptIsMadeWithoutCallersToo() {
        var state = state { _ in }
        _ = admit("first", &state)
        _ = state.startOpening(now: start)
        _ = state.openingFailed(refused, now: start, jitter: 1)
        #expect(state.startOpening(now: start + .milliseconds(50)) == 1)
    }

    @Test func pausesGrowUpToALimitAndVary() {
        var state = state { _ in }
        var now = start
        _ = admit("first", &state)
        _ = state.startOpening(now: now)
        for pause in [50, 100, 200, 400, 500, 500] {
            _ = state.openingFailed(refused, now: now, jitter: 0.5)
            now += .milliseconds(pause) / 2
            #expect(state.startOpening(now: now - .microseconds(1)) == 0)
            #expect(state.startOpening(now: now + .microseconds(1)) == 1)
        }
    }

    @Test func callersKeepWaitingWhileAConnectionMayComeBack() {
        var state = leasedState()
        _ = admit("second", &state)
        #expect(state.startOpening(now: start) == 1)
        #expect(state.openingFailed(refused, now: start, jitter: 1) == [])
        #expect(admit("third", &state) == "waits")
        #expect(describe(state.release(member(1), isReusable: true, now: start)) == "1 to second")
    }

    @Test func idleConnectionsAreTrimmedToTheMinimum() {
        var state = state { $0.minimumConnections = 1 }
        for connection in 1...3 {
            _ = admit("\(connection)", &state)
            _ = state.startOpening(now: start)
            _ = state.opened(
                member(connection, expiresIn: connection == 3 ? .seconds(100) : .seconds(1000)), now: start)
        }
        for connection in 1...3 {
            _ = state.release(
                member(connection, expiresIn: .seconds(connection == 3 ? 100 : 1000)), isReusable: true, now: start)
        }
        #expect(state.trim(now: start + .seconds(99)).isEmpty)
        #expect(state.trim(now: start + .seconds(100)).map(\.connection) == [3])
        #expect(state.trim(now: start + .seconds(300)).map(\.connection) == [1])
        #expect(state.idle.map(\.member.connection) == [2])
    }

    @Test func theMinimumIsOpenedWithoutCallers() {
        var state = state { $0.minimumConnections = 2 }
        #expect(state.startOpening(now: start) == 2)
        #expect(describe(state.opened(member(1), now: start)) == "keep")
        #expect(state.startOpening(now: start) == 0)
    }

    @Test func aClosedPoolRefusesAndClosesWhatComesBack() {
        var state = leasedState()
        _ = admit("second", &state)
        _ = state.startOpening(now: start)
        let closed = state.close()
        #expect(closed.waiters == ["second"])
        #expect(admit("third", &state) == "refused: closed")
        #expect(describe(state.opened(member(2), now: start)) == "close 2")
        #expect(describe(state.release(member(1), isReusable: true, now: start)) == "close 1")
        #expect(state.startOpening(now: start) == 0)
    }

    // MARK: -

    private func state(_ change: (inout PostgresPoolConfiguration) -> Void) -> State {
        var configuration = PostgresPoolConfiguration()
        change(&configuration)
        return State(configuration)
    }

    @Test func connectionsOfBeforeAFailoverAreNotUsedAgain() {
        var state = leasedState()
        #expect(describe(state.release(member(1), isReusable: true, now: start)) == "keep")
        #expect(state.lease()?.connection == 1)
        #expect(state.retire(now: start + .seconds(1)).isEmpty)
        #expect(describe(state.release(member(1), isReusable: true, now: start + .seconds(2))) == "close 1")
        #expect(admit("second", &state, now: start + .seconds(2)) == "waits")
        _ = state.startOpening(now: start + .seconds(2))
        let next = PoolMember(connection: 2, openedAt: start + .seconds(2), expiresAt: start + .seconds(60))
        #expect(describe(state.opened(next, now: start + .seconds(3))) == "2 to second")
        #expect(describe(state.release(next, isReusable: true, now: start + .seconds(4))) == "keep")
        #expect(state.retire(now: start + .seconds(5)).map(\.connection) == [2])
        #expect(state.idle.isEmpty)
    }

    /// Connection 1 is in use.
    private func leasedState() -> State {
        var state = state { _ in }
        _ = admit("first", &state)
        _ = state.startOpening(now: start)
        _ = state.opened(member(1), now: start)
        return state
    }

    private func member(_ connection: Int, expiresIn lifetime: Duration = .seconds(60)) -> PoolMember<Int> {
        PoolMember(connection: connection, openedAt: start, expiresAt: start + lifetime)
    }

    private func admit(
        _ name: String, _ state: inout State, now: ContinuousClock.Instant? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) -> String {
        let waiting = State.Waiting(
            id: UInt64(state.waiting.count + 1), deadline: deadline ?? start + .seconds(1), waiter: name)
        return switch state.admit(waiting, now: now ?? start) {
        case .leased(let member): "leased \(member.connection)"
        case .refused(let error): "refused: \(error.code)"
        case .waits: "waits"
        }
    }

    private func describe(_ placement: State.Placement) -> String {
        switch placement {
        case .handOver(let member, let waiter): "\(member.connection) to \(waiter)"
        case .keep: "keep"
        case .close(let member): "close \(member.connection)"
        }
    }
}
