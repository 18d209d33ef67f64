import TestKit
import Testing

@testable import DevicesService

/// The connection's state machine: each event's actions, without I/O.
@Suite struct APNsConnectionMachineTests {
    private typealias Machine = APNsConnectionMachine<Int>

    private static let start = ContinuousClock.now

    private static func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// A machine with its server's settings.
    private static func open(streams: Int? = 100, isVerified: Bool = true, first: UInt32 = 1) -> Machine {
        var machine = Machine(limits: APNsLimits(), now: start, firstStream: first)
        #expect(machine.settings(maximumStreams: streams, now: start) == true)
        if isVerified { machine.verify() }
        return machine
    }

    private static func accept(_ machine: inout Machine, _ stream: UInt32, at seconds: Double = 1) -> [Machine.Action] {
        machine.head(stream: stream, status: 200, retryAfter: nil, endsStream: true, now: at(seconds))
    }

    private static func response(_ status: Int, _ seconds: Double, body: String = "") -> Machine.Response {
        Machine.Response(status: status, body: Array(body.utf8), duration: .seconds(seconds))
    }

    /// Opens a stream whose whole request is written.
    private static func send(
        _ machine: inout Machine, _ push: Int, deadline: ContinuousClock.Instant, now: ContinuousClock.Instant
    ) -> UInt32 {
        let stream = machine.open(push, deadline: deadline, now: now)
        machine.wrote(stream: stream)
        return stream
    }

    // MARK: - Room for streams

    @Test("Nothing is sent before the server's settings")
    func settingsOpen() {
        var machine = Machine(limits: APNsLimits(), now: Self.start)
        #expect(machine.capacity == 0)
        #expect(machine.settings(maximumStreams: 5, now: Self.start) == true)
        #expect(machine.phase == .open)
        #expect(machine.capacity == 1)
        #expect(machine.settings(maximumStreams: 6, now: Self.start) == false)
    }

    @Test("One stream at a time until the token is verified, then as many as the server allows")
    func verificationOpensStreams() {
        var machine = Self.open(streams: 3, isVerified: false)
        #expect(machine.open(1, deadline: Self.at(10), now: Self.start) == 1)
        #expect(machine.capacity == 0)
        _ = Self.accept(&machine, 1)
        #expect(machine.capacity == 1)
        machine.verify()
        #expect(machine.capacity == 3)
        #expect(machine.open(2, deadline: Self.at(10), now: Self.start) == 3)
        #expect(machine.open(3, deadline: Self.at(10), now: Self.start) == 5)
        #expect(machine.capacity == 1)
    }

    @Test("The server's number of streams is followed up and down")
    func settingsAreFollowed() {
        var machine = Self.open(streams: nil)
        #expect(machine.capacity == 100)
        _ = machine.settings(maximumStreams: 4, now: Self.start)
        for push in 0..<4 { _ = machine.open(push, deadline: Self.at(10), now: Self.start) }
        _ = machine.settings(maximumStreams: 1, now: Self.start)
        #expect(machine.capacity == 0)
        for stream: UInt32 in [1, 3, 5] { _ = Self.accept(&machine, stream) }
        #expect(machine.capacity == 0)
        _ = Self.accept(&machine, 7)
        #expect(machine.capacity == 1)
        _ = machine.settings(maximumStreams: nil, now: Self.start)
        #expect(machine.capacity == 1)
        _ = machine.settings(maximumStreams: 0, now: Self.start)
        #expect(machine.capacity == 0)
        _ = machine.settings(maximumStreams: 5000, now: Self.start)
        #expect(machine.capacity == APNsLimits().maximumStreams)
    }

    @Test("The last stream number ends the connection")
    func streamNumbersEnd() {
        var machine = Self.open(first: Machine.lastStream - 2)
        #expect(machine.open(1, deadline: Self.at(10), now: Self.start) == Machine.lastStream - 2)
        #expect(machine.open(2, deadline: Self.at(10), now: Self.start) == Machine.lastStream)
        #expect(machine.capacity == 0)
        #expect(!machine.isFinished)
        _ = Self.accept(&machine, Machine.lastStream - 2)
        _ = Self.accept(&machine, Machine.lastStream)
        #expect(machine.isFinished)
    }

    // MARK: - Responses

    @Test("Answers come in any order, each with its own push")
    func answersComeInAnyOrder() {
        var machine = Self.open()
        for push in 1...3 { _ = machine.open(push, deadline: Self.at(10), now: Self.at(0)) }
        #expect(Self.accept(&machine, 5, at: 1) == [.answered(3, Self.response(200, 1))])
        #expect(Self.accept(&machine, 1, at: 2) == [.answered(1, Self.response(200, 2))])
        #expect(Self.accept(&machine, 3, at: 3) == [.answered(2, Self.response(200, 3))])
        #expect(machine.openStreams == 0)
    }

    @Test("A response has a head, parts of a body, and perhaps trailers")
    func responsesHaveParts() {
        var machine = Self.open()
        for push in 1...2 { _ = machine.open(push, deadline: Self.at(10), now: Self.at(0)) }
        #expect(machine.head(stream: 1, status: 103, retryAfter: nil, endsStream: false, now: Self.at(1)).isEmpty)
        #expect(machine.head(stream: 1, status: 429, retryAfter: 7, endsStream: false, now: Self.at(1)).isEmpty)
        #expect(machine.body(stream: 1, Array("ab".utf8), endsStream: false, now: Self.at(1)).isEmpty)
        var expected = Self.response(429, 2, body: "abc")
        expected.retryAfter = 7
        #expect(
            machine.body(stream: 1, Array("c".utf8), endsStream: true, now: Self.at(2)) == [.answered(1, expected)])
        #expect(machine.head(stream: 3, status: 400, retryAfter: nil, endsStream: false, now: Self.at(2)).isEmpty)
        #expect(
            machine.head(stream: 3, status: nil, retryAfter: nil, endsStream: true, now: Self.at(2))
                == [.answered(2, Self.response(400, 2))])
    }

    @Test("A malformed or endless response is reset, and its push is in doubt")
    func malformedResponses() {
        let abandoned: [Machine.Action] = [.reset(stream: 1), .inDoubt(1)]
        var machine = Self.open()
        _ = machine.open(1, deadline: Self.at(10), now: Self.start)
        #expect(machine.head(stream: 1, status: nil, retryAfter: nil, endsStream: false, now: Self.at(1)) == abandoned)

        machine = Self.open()
        _ = machine.open(1, deadline: Self.at(10), now: Self.start)
        #expect(machine.head(stream: 1, status: 103, retryAfter: nil, endsStream: true, now: Self.at(1)) == abandoned)

        machine = Self.open()
        _ = machine.open(1, deadline: Self.at(10), now: Self.start)
        #expect(machine.body(stream: 1, [1], endsStream: true, now: Self.at(1)) == abandoned)

        machine = Self.open()
        _ = machine.open(1, deadline: Self.at(10), now: Self.start)
        _ = machine.head(stream: 1, status: 400, retryAfter: nil, endsStream: false, now: Self.at(1))
        let part = [UInt8](repeating: 0, count: APNsLimits().maximumBody)
        #expect(machine.body(stream: 1, part, endsStream: false, now: Self.at(1)).isEmpty)
        #expect(machine.body(stream: 1, [0], endsStream: true, now: Self.at(1)) == abandoned)
    }

    @Test("Frames of streams that have ended change nothing")
    func lateFramesAreIgnored() {
        var machine = Self.open()
        _ = machine.open(1, deadline: Self.at(10), now: Self.start)
        _ = Self.accept(&machine, 1)
        for stream: UInt32 in [1, 3, 99] {
            #expect(Self.accept(&machine, stream).isEmpty)
            #expect(machine.body(stream: stream, [1], endsStream: true, now: Self.at(1)).isEmpty)
            #expect(machine.reset(stream: stream, isRefused: true, now: Self.at(1)).isEmpty)
        }
    }

    // MARK: - Resets and GOAWAY

    @Test("A refused stream was not processed, another reset leaves it in doubt")
    func resets() {
        var machine = Self.open()
        for push in 1...2 { _ = machine.open(push, deadline: Self.at(10), now: Self.start) }
        #expect(machine.reset(stream: 1, isRefused: true, now: Self.at(1)) == [.notProcessed(1)])
        #expect(machine.reset(stream: 3, isRefused: false, now: Self.at(1)) == [.inDoubt(2)])
        #expect(machine.phase == .open)
    }

    @Test("GOAWAY with each last stream", arguments: 0...8)
    func goAway(last: Int) {
        var machine = Self.open()
        for push in 1...4 { _ = machine.open(push, deadline: Self.at(10), now: Self.start) }
        let above = (1...4).filter { 2 * $0 - 1 > last }
        #expect(machine.goAway(lastStream: UInt32(last), now: Self.at(1)) == above.map { .notProcessed($0) })
        #expect(machine.capacity == 0)
        #expect(machine.openStreams == 4 - above.count)
        for push in 1...4 where !above.contains(push) {
            #expect(!machine.isFinished)
            #expect(Self.accept(&machine, UInt32(2 * push - 1)).count == 1)
        }
        #expect(machine.isFinished)
    }

    @Test("A second GOAWAY may name a lower stream")
    func goAwayTwice() {
        var machine = Self.open()
        for push in 1...2 { _ = machine.open(push, deadline: Self.at(10), now: Self.start) }
        #expect(machine.goAway(lastStream: Machine.lastStream, now: Self.at(1)).isEmpty)
        #expect(machine.goAway(lastStream: 1, now: Self.at(1)) == [.notProcessed(2)])
        #expect(!machine.isFinished)
    }

    @Test("A closed connection leaves its streams in doubt, and does nothing more")
    func closing() {
        var machine = Self.open()
        for push in 1...2 { _ = machine.open(push, deadline: Self.at(10), now: Self.start) }
        #expect(machine.closed() == [.inDoubt(1), .inDoubt(2)])
        #expect(machine.closed().isEmpty)
        #expect(machine.nextTimer == nil)
        #expect(machine.timerFired(now: Self.at(100)).isEmpty)
        machine.drain()
        #expect(machine.phase == .closed)
        #expect(!machine.isFinished)
    }

    // MARK: - Times

    @Test("A server without settings is left after the connect timeout")
    func connectTimeout() {
        var machine = Machine(limits: APNsLimits(), now: Self.start)
        #expect(machine.nextTimer == Self.at(5))
        #expect(machine.timerFired(now: Self.at(4.9)).isEmpty)
        #expect(machine.timerFired(now: Self.at(5)) == [.close("The server has sent no SETTINGS in time.")])
    }

    @Test("A request that is not written in time ends: its end never reaches the server")
    func unwrittenRequests() {
        var machine = Self.open()
        _ = machine.open(1, deadline: Self.at(10), now: Self.at(0))
        _ = Self.send(&machine, 2, deadline: Self.at(10), now: Self.at(0))
        #expect(machine.nextTimer == Self.at(0.4))
        #expect(machine.timerFired(now: Self.at(0.3)).isEmpty)
        #expect(
            machine.timerFired(now: Self.at(0.4)) == [.closeIfBlocked, .reset(stream: 1), .notProcessed(1), .ping])
        #expect(machine.nextTimer == Self.at(10) && machine.openStreams == 1)
    }

    @Test("Each push has its own deadline. A missed one resets the stream and checks the connection")
    func deadlines() {
        var machine = Self.open()
        _ = Self.send(&machine, 1, deadline: Self.at(10), now: Self.at(0))
        _ = Self.send(&machine, 2, deadline: Self.at(8), now: Self.at(1))
        _ = Self.send(&machine, 3, deadline: Self.at(12), now: Self.at(2))
        #expect(machine.timerFired(now: Self.at(7.9)).isEmpty)
        #expect(machine.nextTimer == Self.at(8))
        #expect(machine.timerFired(now: Self.at(8)) == [.reset(stream: 3), .inDoubt(2), .ping])
        #expect(machine.nextTimer == Self.at(10))
        #expect(machine.timerFired(now: Self.at(10)) == [.reset(stream: 1), .inDoubt(1)])
        machine.pingAcknowledged(now: Self.at(11))
        #expect(machine.nextTimer == Self.at(12))
        #expect(Self.accept(&machine, 5, at: 11).count == 1)
        #expect(machine.nextTimer == Self.at(11 + 3600))
        #expect(machine.capacity == 100)
    }

    @Test("A connection on which streams hang in a row is left, even if it answers PING")
    func hangingStreams() {
        var machine = Self.open()
        for push in 1...4 { _ = Self.send(&machine, push, deadline: Self.at(Double(push)), now: Self.at(0)) }
        _ = machine.timerFired(now: Self.at(2))
        machine.pingAcknowledged(now: Self.at(2))
        #expect(machine.phase == .open)
        _ = machine.timerFired(now: Self.at(3))
        #expect(machine.phase == .draining)
        #expect(machine.timerFired(now: Self.at(4)) == [.reset(stream: 7), .inDoubt(4)])
        #expect(machine.isFinished)
    }

    @Test("An answer ends the row of hanging streams")
    func answersEndTheRow() {
        var machine = Self.open()
        for push in 1...4 { _ = Self.send(&machine, push, deadline: Self.at(Double(push)), now: Self.at(0)) }
        _ = machine.timerFired(now: Self.at(2))
        _ = Self.accept(&machine, 5, at: 2)
        _ = machine.timerFired(now: Self.at(4))
        #expect(machine.phase == .open)
    }

    @Test("A PING follows an hour of idleness. Without an answer the connection is closed")
    func idleness() {
        var machine = Self.open()
        #expect(machine.nextTimer == Self.at(3600))
        #expect(machine.timerFired(now: Self.at(3599)).isEmpty)
        #expect(machine.timerFired(now: Self.at(3600)) == [.ping])
        #expect(machine.nextTimer == Self.at(3610))
        #expect(machine.timerFired(now: Self.at(3601)).isEmpty)
        machine.pingAcknowledged(now: Self.at(3605))
        #expect(machine.nextTimer == Self.at(3605 + 3600))
        #expect(machine.timerFired(now: Self.at(7205)) == [.ping])
        #expect(machine.timerFired(now: Self.at(7215)) == [.close("The server has not answered a PING.")])
    }

    @Test("A connection is stalled, then hangs, while streams wait and nothing comes")
    func responsiveness() {
        var machine = Self.open()
        #expect(machine.responsiveness(now: Self.at(100)) == .normal)
        _ = Self.send(&machine, 1, deadline: Self.at(110), now: Self.at(100))
        #expect(machine.responsiveness(now: Self.at(100.1)) == .normal)
        #expect(machine.responsiveness(now: Self.at(100.2)) == .stalled)
        _ = Self.send(&machine, 2, deadline: Self.at(110), now: Self.at(100.2))
        #expect(machine.responsiveness(now: Self.at(100.9)) == .stalled)
        #expect(machine.responsiveness(now: Self.at(101)) == .hanging)
        machine.heard(Self.at(101))
        #expect(machine.responsiveness(now: Self.at(101.1)) == .normal)
        #expect(machine.responsiveness(now: Self.at(101.2)) == .stalled)
        _ = Self.accept(&machine, 1, at: 101.2)
        _ = Self.accept(&machine, 3, at: 101.2)
        #expect(machine.responsiveness(now: Self.at(200)) == .normal)
    }

    // MARK: - Any order of events

    @Test("In any order of events each push has one outcome, and no limit is exceeded", arguments: 0..<200)
    func randomEvents(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var machine = Machine(limits: APNsLimits(), now: Self.start)
        var (now, opened, allowed) = (Self.start, 0, 100)
        var outcomes: [Int: Int] = [:]
        func note(_ actions: [Machine.Action]) -> Bool {
            var closes = false
            for action in actions {
                switch action {
                case .answered(let push, _), .notProcessed(let push), .inDoubt(let push):
                    outcomes[push, default: 0] += 1
                case .close: closes = true
                case .reset, .ping, .closeIfBlocked: break
                }
            }
            return closes
        }
        var isClosed = false
        for _ in 0..<500 where !isClosed {
            now += .milliseconds(Int.random(in: 0...900, using: &random))
            let stream = UInt32.random(in: 0...UInt32(2 * opened + 3), using: &random)
            var actions: [Machine.Action] = []
            switch Int.random(in: 0..<60, using: &random) {
            case 0..<25:
                if machine.capacity > 0 {
                    #expect(machine.openStreams < allowed && (machine.isVerified || machine.openStreams == 0))
                    _ = machine.open(opened, deadline: now + .seconds(10), now: now)
                    opened += 1
                }
            case 25..<40:
                actions = machine.head(stream: stream, status: 200, retryAfter: nil, endsStream: true, now: now)
            case 40..<43:
                actions = machine.head(stream: stream, status: 400, retryAfter: nil, endsStream: false, now: now)
            case 43..<47: actions = machine.body(stream: stream, [1], endsStream: Bool.random(using: &random), now: now)
            case 47..<50:
                actions = machine.reset(stream: stream, isRefused: Bool.random(using: &random), now: now)
            case 50: machine.verify()
            case 51:
                allowed = Int.random(in: 0...8, using: &random)
                _ = machine.settings(maximumStreams: allowed, now: now)
            case 52: machine.pingAcknowledged(now: now)
            case 53 where Int.random(in: 0..<5, using: &random) == 0:
                actions = machine.goAway(lastStream: stream, now: now)
            default: actions = machine.timerFired(now: now)
            }
            isClosed = note(actions) || machine.isFinished
            if machine.phase != .connecting, let next = machine.nextTimer, machine.openStreams > 0 {
                #expect(next <= now + .seconds(10))
            }
        }
        _ = note(machine.closed())
        #expect(outcomes.count == opened && outcomes.values.allSatisfy { $0 == 1 })
    }
}
