import Testing

@testable import GatewayService

@Suite("The states of a client's connection")
struct ClientConnectionMachineTests {
    typealias State = ClientConnectionMachine

    // MARK: Requests one after the other

    @Test("After a response the next request is waited for, or read at once where it has come already")
    func pipelining() {
        var state = State.forwarding()
        #expect(state.phase == .responding)
        #expect(state.deadline == 500)
        #expect(state.decideToClose(isDraining: false) == false)
        #expect(state.responseEnded(hasInput: false, at: 100) == .readNextRequest)
        #expect(state.phase == .head)
        #expect(state.deadline == 1100)

        state.forward(hasBody: false, expectsContinue: false, closes: false, until: 600)
        #expect(state.responseEnded(hasInput: true, at: 200) == .readNextRequest)
        #expect(state.deadline == 500, "the head of what has come has the time of a head")
    }

    @Test("The time of a head begins with its first byte and not with each")
    func headTime() {
        var state = State.opened()
        #expect(state.deadline == 1000)
        #expect(state.received(isFirst: true, at: 400) == true)
        #expect(state.deadline == 700)
        #expect(state.received(isFirst: false, at: 500) == true)
        #expect(state.deadline == 700)
        state.headIsReadLate(at: 650)
        #expect(state.deadline == 950)
    }

    @Test("What has to come before the first request has the time of a head")
    func preparation() {
        var state = State(times: .test)
        #expect(state.deadline == .max)
        state.open(isPrepared: false, isOverLimit: false, at: 7)
        #expect(state.deadline == 307)
        state.open(isPrepared: true, isOverLimit: false, at: 8)
        #expect(state.deadline == 1008)
    }

    @Test("A stream of HTTP/2 is read to its end, and has no next request")
    func stream() {
        var state = State.opened(carriesOneRequest: true)
        state.forward(hasBody: false, expectsContinue: false, closes: false, until: 500)
        #expect(state.responseEnded(hasInput: false, at: 100) == .readNextRequest)
        #expect(state.deadline == 120)
        #expect(state.timedOut(at: 120) == .close)
    }

    @Test("Each reason to close ends the connection with its response", arguments: [true, false])
    func closing(asked: Bool) {
        var state = State.forwarding(closes: asked)
        #expect(state.decideToClose(isDraining: !asked) == true)
        #expect(state.responseEnded(hasInput: true, at: 100) == .linger)
        #expect(state.phase == .lingering)
        #expect(state.received(isFirst: true, at: 101) == false, "requests behind the last one are thrown away")
    }

    @Test("The gateway's drain ends connections without a request at once, and no others")
    func drain() {
        let idle = State.opened()
        #expect(idle.isIdle(hasInput: false))
        #expect(!idle.isIdle(hasInput: true))
        #expect(!State.forwarding().isIdle(hasInput: false))
        // A response that begins before the drain has not said that it is the last: the next one does.
        var state = State.forwarding()
        #expect(state.decideToClose(isDraining: false) == false)
        #expect(state.responseEnded(hasInput: false, at: 100) == .readNextRequest)
        #expect(state.isIdle(hasInput: false))
    }

    // MARK: Bodies

    @Test("A body that ends before the response leaves the connection as it is")
    func body() {
        var state = State.forwarding(hasBody: true)
        #expect(state.phase == .body)
        #expect(state.received(isFirst: true, at: 10) == true)
        state.bodyEnded()
        #expect(state.phase == .responding)
        #expect(state.decideToClose(isDraining: false) == false)
        #expect(state.responseEnded(hasInput: false, at: 20) == .readNextRequest)
    }

    @Test("A response before the body's end is the last: the rest is thrown away, and then the connection lingers")
    func earlyResponse() {
        var state = State.forwarding(hasBody: true)
        #expect(state.decideToClose(isDraining: false) == true)
        #expect(state.responseEnded(hasInput: true, at: 100) == .discardBody)
        #expect(state.phase == .discardingBody)
        #expect(state.deadline == 120)
        // Who goes on sending has more time, and not for ever.
        #expect(state.received(isFirst: true, at: 110) == true)
        #expect(state.deadline == 130)
        #expect(state.received(isFirst: true, at: 195) == true)
        #expect(state.deadline == 200)
        #expect(state.responseEnded(hasInput: false, at: 196) == .linger)
        #expect(state.phase == .lingering)
    }

    @Test("A response that begins before the body's end says that it is the last, and is, even if the body ends first")
    func lateBody() {
        var state = State.forwarding(hasBody: true)
        #expect(state.decideToClose(isDraining: false) == true)
        state.bodyEnded()
        #expect(state.responseEnded(hasInput: true, at: 100) == .linger)
    }

    @Test(
        "A refused request's body is thrown away, and the connection kept if it is short",
        arguments: [(0, false), (1, false), (64 * 1024, false), (64 * 1024 + 1, true)])
    func refusedBody(length: Int, closes: Bool) {
        var state = State.opened()
        state.respond(bodyLength: length, expectsContinue: false, closes: false)
        #expect(state.closesAfterResponse == closes)
        if length > 0 {
            #expect(state.responseEnded(hasInput: false, at: 10) == .discardBody)
            state.discarded(length)
        }
        #expect(state.responseEnded(hasInput: false, at: 20) == (closes ? .linger : .readNextRequest))
    }

    @Test("Of a body whose length is not known so much is thrown away before the connection ends with it")
    func refusedChunks() {
        var state = State.opened()
        for round in 0..<2 {
            state.respond(bodyLength: nil, expectsContinue: false, closes: false)
            #expect(state.responseEnded(hasInput: false, at: 10) == .discardBody)
            state.discarded(State.discardLimit)
            #expect(!state.closesAfterResponse, "round \(round): each body counts by itself")
            if round == 0 { #expect(state.responseEnded(hasInput: false, at: 20) == .readNextRequest) }
        }
        state.discarded(1)
        #expect(state.closesAfterResponse)
        #expect(state.responseEnded(hasInput: false, at: 20) == .linger)
    }

    @Test("A body that the gateway has not asked for yet does not come: the connection ends with the refusal")
    func refusedExpectation() {
        var state = State.opened()
        state.respond(bodyLength: 10, expectsContinue: true, closes: false)
        #expect(state.closesAfterResponse)
        #expect(state.responseEnded(hasInput: false, at: 10) == .linger)

        var forwarded = State.forwarding(hasBody: true, expectsContinue: true)
        #expect(forwarded.waitsForContinue)
        #expect(forwarded.decideToClose(isDraining: false) == true)
        #expect(forwarded.responseEnded(hasInput: false, at: 10) == .linger)
    }

    @Test("Once the upstream takes the body, an early response has the rest of it thrown away")
    func continued() {
        var state = State.forwarding(hasBody: true, expectsContinue: true)
        state.bodyMayFlow()
        #expect(!state.waitsForContinue)
        #expect(state.decideToClose(isDraining: false) == true)
        #expect(state.responseEnded(hasInput: false, at: 10) == .discardBody)
        // The next request is not told by this one.
        var other = State.opened()
        other.respond(bodyLength: 0, expectsContinue: false, closes: false)
        #expect(!other.waitsForContinue)
    }

    @Test("After a malformed body nothing is read", arguments: [true, false])
    func malformedBody(isForwarded: Bool) {
        var state = State.forwarding(hasBody: true)
        if !isForwarded {
            #expect(state.responseEnded(hasInput: true, at: 10) == .discardBody)
        }
        state.bodyIsMalformed()
        #expect(state.closesAfterResponse)
        #expect(state.responseEnded(hasInput: true, at: 20) == .linger)
    }

    // MARK: The rest

    @Test("All waits of a request for keys share one deadline, and keep the time of its arrival")
    func keys() {
        var state = State.opened()
        #expect(state.arrivedAt == nil)
        state.waitForKeys(for: 200, arrivedAt: 90, at: 100)
        #expect(state.phase == .waitingForKeys)
        #expect(state.deadline == 300)
        state.endKeyWait()
        #expect(state.phase == .head)
        #expect(state.mayWaitForKeys)
        #expect(state.arrivedAt == 90)
        state.waitForKeys(for: 200, arrivedAt: 90, at: 250)
        #expect(state.deadline == 300)
        #expect(state.timedOut(at: 299) == .goOn)
        #expect(state.timedOut(at: 300) == .endKeyWait)
        #expect(!state.mayWaitForKeys)
        state.endKeyWait()
        state.respond(bodyLength: 0, expectsContinue: false, closes: false)
        #expect(state.mayWaitForKeys, "the next request may wait again")
        #expect(state.arrivedAt == nil)
        #expect(state.responseEnded(hasInput: false, at: 310) == .readNextRequest)
        state.waitForKeys(for: 200, arrivedAt: 400, at: 400)
        #expect(state.deadline == 600)
    }

    @Test("A connection over the limit has one short time, and its refusal is the last response")
    func overLimit() {
        var state = State.opened(isOverLimit: true)
        #expect(state.deadline == 50)
        #expect(state.received(isFirst: true, at: 40) == true)
        #expect(state.deadline == 50)
        var silent = state
        #expect(silent.timedOut(hasInput: true, at: 50) == .close)
        state.respond(bodyLength: 0, expectsContinue: false, closes: false)
        #expect(state.responseEnded(hasInput: false, at: 45) == .linger)
        #expect(state.received(isFirst: true, at: 60) == false)
        #expect(state.deadline == 65, "it lingers no longer for what it sends")
    }

    @Test("A WebSocket has the time of a stream, and lingers at its end")
    func tunnel() {
        var state = State.forwarding()
        state.tunnelBegan()
        state.extendStream(at: 100)
        #expect(state.received(isFirst: true, at: 200) == true)
        #expect(state.deadline == 5100)
        #expect(state.timedOut(hasResponse: true, at: 5100) == .endExchange)
        state.linger(at: 5100)
        #expect(state.phase == .lingering)
    }

    @Test("A closed connection takes nothing in and has no deadline")
    func closed() {
        var state = State.forwarding(hasBody: true)
        state.abort()
        #expect(state.phase == .closed)
        #expect(state.received(isFirst: true, at: 10) == false)
        #expect(state.timedOut(at: 500) == .close)
        state.closed()
        #expect(state.deadline == .max)
    }
}
