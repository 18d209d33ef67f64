import Testing

@testable import GatewayService

@Suite("What a client's connection does with time")
struct ClientConnectionTimeTests {
    typealias State = ClientConnectionMachine

    @Test("Silence closes a connection; half a head is refused")
    func head() {
        var state = State.opened()
        #expect(state.timedOut(at: 999) == .goOn)
        var silent = state
        #expect(silent.timedOut(at: 1000) == .close)
        #expect(state.received(isFirst: true, at: 900) == true)
        #expect(state.timedOut(hasInput: true, at: 1199) == .goOn)
        #expect(state.timedOut(hasInput: true, at: 1200) == .refuseHead)
    }

    @Test("A request whose client does not read the responses before it is not looked at: a stream of HTTP/2 is reset")
    func unread() {
        var stream = State.opened(carriesOneRequest: true)
        #expect(stream.received(isFirst: true, at: 0) == true)
        #expect(stream.timedOut(isWritable: false, hasInput: true, at: 300) == .resetStream)
        var connection = State.opened()
        #expect(connection.received(isFirst: true, at: 0) == true)
        #expect(connection.timedOut(isWritable: false, hasInput: true, at: 300) == .refuseHead)
    }

    @Test("An upstream that does not respond is the exchange's matter", arguments: [true, false])
    func exchange(hasBody: Bool) {
        var state = State.forwarding(hasBody: hasBody)
        #expect(state.timedOut(at: 499) == .goOn)
        state.allow(until: 600)
        #expect(state.timedOut(at: 599) == .goOn)
        #expect(state.timedOut(at: 600) == .endExchange)
        #expect(state.deadline == 620, "it is looked at again in any case")
    }

    @Test("A response of which nothing more comes is cut, but not while its client has still to take of it")
    func stream() {
        var state = State.forwarding()
        state.extendStream(at: 100)
        state.wrote(1000)
        #expect(state.timedOut(waiting: 1000, hasResponse: true, at: 5100) == .goOn)
        #expect(state.timedOut(waiting: 500, hasResponse: true, at: 10_050) == .goOn)
        #expect(state.timedOut(waiting: 0, hasResponse: true, at: 10_100) == .endExchange)
    }

    @Test("What still waits of earlier responses gives the upstream no more time")
    func noResponse() {
        var state = State.forwarding()
        state.wrote(10)
        #expect(state.timedOut(waiting: 10, hasResponse: false, at: 500) == .endExchange)
    }

    @Test("A client that still takes its last response is not idle")
    func idle() {
        var state = State.forwarding()
        state.wrote(10)
        #expect(state.responseEnded(hasInput: false, at: 100) == .readNextRequest)
        #expect(state.timedOut(waiting: 10, at: 1100) == .goOn)
        #expect(state.timedOut(waiting: 5, at: 2099) == .goOn)
        #expect(state.timedOut(waiting: 0, at: 2100) == .close)
    }

    // MARK: The tail of a response

    @Test("The tail of a response is not cut: the client's time begins when it has taken the last byte")
    func tail() {
        var state = State.forwarding(closes: true)
        state.wrote(1_000_000)
        #expect(state.responseEnded(hasInput: false, at: 100) == .linger)
        // Whenever it is looked at: while bytes wait, the connection stays.
        for now in stride(from: Int64(120), through: 9000, by: 20) {
            #expect(state.timedOut(waiting: 1_000_000 - Int(now) * 100, at: now) == .goOn, "at \(now)")
        }
        #expect(state.update(unsentBytes: 0, at: 9010) == true)
        state.taken(at: 9010)
        #expect(state.deadline == 9030)
        #expect(state.timedOut(at: 9029) == .goOn)
        #expect(state.timedOut(at: 9030) == .close)
    }

    @Test("What the system still sends is waited for as well, for the longest time at the most")
    func delivery() {
        var state = State.forwarding(closes: true)
        #expect(state.responseEnded(hasInput: false, at: 0) == .linger)
        for now in [Int64(20), 40, 60, 80] {
            #expect(state.timedOut(isUndelivered: true, at: now) == .goOn)
            #expect(state.deadline == min(100, now + 20))
        }
        #expect(state.timedOut(isUndelivered: true, at: 100) == .close)
        var other = State.forwarding(closes: true)
        #expect(other.responseEnded(hasInput: false, at: 0) == .linger)
        #expect(other.timedOut(isUndelivered: false, at: 20) == .close)
    }

    @Test("A client that goes on sending to a connection that lingers has the longest time and no more")
    func chatter() {
        var state = State.forwarding(closes: true)
        #expect(state.responseEnded(hasInput: false, at: 0) == .linger)
        for now in stride(from: Int64(10), to: 100, by: 10) {
            #expect(state.received(isFirst: true, at: now) == false)
            #expect(state.deadline == min(100, now + 20))
        }
        #expect(state.timedOut(at: 100) == .close)
    }

    @Test("A body that is thrown away is waited for while the response before it is being taken")
    func discarding() {
        var state = State.opened()
        state.respond(bodyLength: 10, expectsContinue: false, closes: false)
        state.wrote(500)
        #expect(state.responseEnded(hasInput: false, at: 0) == .discardBody)
        #expect(state.timedOut(waiting: 500, at: 20) == .goOn)
        #expect(state.deadline == 40)
        #expect(state.timedOut(waiting: 0, at: 40) == .close)
    }

    // MARK: Slow readers

    @Test("The client takes bytes too slowly: the connection ends in every phase; an upstream's stall does not count")
    func slowReader() {
        var responding = State.forwarding()
        responding.extendStream(at: 0)
        responding.wrote(100)
        #expect(responding.update(unsentBytes: 100, at: 0) == true)
        #expect(responding.deadline == 5000)
        responding.extendStream(at: 6000)
        #expect(responding.deadline == 10_000, "its time budget ends before the stream's time")
        var taking = responding
        #expect(responding.timedOut(waiting: 100, hasResponse: true, at: 10_000) == .endSlowReader)
        // The last byte gives time back for as long as nothing waits.
        #expect(taking.update(unsentBytes: 0, at: 9999) == true)
        #expect(taking.deadline == 11_000)

        var lingering = State.forwarding(closes: true)
        lingering.wrote(100)
        #expect(lingering.update(unsentBytes: 100, at: 0) == true)
        #expect(lingering.responseEnded(hasInput: false, at: 0) == .linger)
        #expect(lingering.timedOut(waiting: 100, at: 10_000) == .endSlowReader)

        var idle = State.opened()
        idle.wrote(100)
        #expect(idle.update(unsentBytes: 100, at: 0) == true)
        #expect(idle.timedOut(waiting: 100, at: 10_000) == .endSlowReader)
    }

    @Test("A closed connection is no slow reader")
    func closed() {
        var state = State.forwarding()
        state.wrote(100)
        #expect(state.update(unsentBytes: 100, at: 0) == true)
        state.abort()
        #expect(state.timedOut(waiting: 100, at: 20_000) == .close)
    }

    @Test("Each response has a new time budget, unless one before it is still waited for")
    func timeBudget() {
        var state = State.forwarding()
        state.wrote(100)
        #expect(state.update(unsentBytes: 100, at: 0) == true)
        #expect(state.update(unsentBytes: 100, at: 9000) == true)
        var pipelined = state
        #expect(state.update(unsentBytes: 0, at: 9000) == true)
        #expect(state.responseEnded(hasInput: false, at: 9000) == .readNextRequest)
        state.forward(hasBody: false, expectsContinue: false, closes: false, until: 100_000)
        state.wrote(100)
        #expect(state.update(unsentBytes: 100, at: 9000) == true)
        #expect(state.deadline == 19_000)

        #expect(pipelined.responseEnded(hasInput: false, at: 9000) == .readNextRequest)
        pipelined.forward(hasBody: false, expectsContinue: false, closes: false, until: 100_000)
        #expect(pipelined.deadline == 10_000)
    }
}
