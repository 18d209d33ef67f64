import Testing

@testable import GatewayService

@Suite("The states of a forwarded request")
struct ExchangeMachineTests {
    typealias State = ExchangeMachine

    /// A request that arrived at 0, with 300 for its response.
    private static func started(hasBody: Bool = false, isProbe: Bool = false) -> State {
        var state = State(hasBody: hasBody, bodyLimit: 100, timeout: 300, arrivedAt: 0)
        _ = state.beginAttempt()
        state.choose(isProbe: isProbe)
        return state
    }

    private static func sent(hasBody: Bool = false, isProbe: Bool = false) -> State {
        var state = started(hasBody: hasBody, isProbe: isProbe)
        _ = state.connected(at: 10)
        return state
    }

    private struct Outcome: Equatable {
        var next: State.AfterFailure
        /// Whether the budget was asked for a retry.
        var asksBudget = false
    }

    private func fail(
        _ state: inout State, _ retry: State.Retry, addresses: Int = 2, at now: Int64 = 20, takesRetry: Bool = true
    ) -> Outcome {
        var asked = false
        let next = state.failed(retry, addresses: addresses, at: now) {
            asked = true
            return takesRetry
        }
        return Outcome(next: next, asksBudget: asked)
    }

    @Test("From its beginning to the end of its response")
    func whole() {
        var state = State(hasBody: true, bodyLimit: 100, timeout: 300, arrivedAt: 5)
        #expect(state.beginAttempt() == false)
        #expect(state.phase == .connecting && !state.hasResponse && !state.isRequestComplete)
        #expect(state.connected(at: 10) == 305)
        #expect(state.phase == .waitingForResponse && !state.hasResponse)
        state.requestEnded()
        #expect(state.isRequestComplete)
        state.responseBegan()
        #expect(state.hasResponse)
        state.ended()
        #expect(state.phase == .ended && !state.hasResponse && !state.isStream)
    }

    @Test("A request without a body is complete at once; a WebSocket is remembered as one")
    func tunnel() {
        var state = Self.sent()
        #expect(state.isRequestComplete)
        state.tunnelBegan()
        #expect(state.hasResponse && state.isStream)
        state.ended()
        #expect(state.isStream)
    }

    @Test("An event stream is remembered as one, and is a response like any other otherwise")
    func eventStream() {
        var state = Self.sent()
        state.responseBegan(isEventStream: true)
        #expect(state.phase == .responding && state.isStream)
        state.ended()
        #expect(state.isStream)
    }

    // MARK: Bodies

    @Test("A body may be as long as the route allows, and no longer")
    func bodyLimit() {
        var state = Self.sent(hasBody: true)
        #expect(state.countBody(60) == true)
        #expect(state.countBody(40) == true)
        #expect(state.countBody(1) == false)
        #expect(state.bodyBytes == 101)
    }

    @Test("A body that comes moves the deadline; one in drops moves it no further than its rate allows")
    func bodyTime() {
        var state = Self.sent(hasBody: true)
        #expect(state.deadline == 300)
        state.extend(latest: 1000, at: 50)
        #expect(state.deadline == 350)
        state.extend(latest: 60, at: 200)
        #expect(state.deadline == 360)
        state.extend(latest: 40, at: 250)
        #expect(state.deadline == 360, "it never moves back")
    }

    private static func buffering(timeout: Int64 = 300) -> State {
        State(hasBody: true, bufferingTime: 50, bodyLimit: 100, timeout: timeout, arrivedAt: 5)
    }

    @Test("A request without a body, and one whose route does not buffer, waits for a connection at once")
    func unbuffered() {
        #expect(State(hasBody: false, bufferingTime: 50, bodyLimit: 0, timeout: 300, arrivedAt: 0).phase == .connecting)
        let unbuffered = State(hasBody: true, bodyLimit: 100, timeout: 300, arrivedAt: 5)
        #expect(unbuffered.phase == .connecting && unbuffered.nextDeadline == 305)
    }

    @Test("A body is buffered up to 64 KiB, or what memory allows, and no longer than its time")
    func buffering() {
        var state = Self.buffering()
        #expect(state.phase == .buffering && !state.hasResponse && state.nextDeadline == 55)
        let (most, least) = (BufferBudget.most, BufferBudget.least)
        for (bytes, allowance, isEnough) in [
            (0, most, false), (most - 1, most, false), (most, most, true), (most + 1, most, true),
            (most - 1, 2 * most, false), (most, 2 * most, true), (least - 1, least, false), (least, least, true),
        ] {
            let next = state.buffering(bytes, of: allowance, isWhole: false)
            #expect(next == (isEnough ? .ends : .continues), "\(bytes) of \(allowance)")
        }
        #expect(state.timedOut(upstreamAcceptsBody: true, at: 55) == .forward)
        #expect(state.beginAttempt() == false)
        #expect(state.phase == .connecting && state.nextDeadline == 305)
    }

    @Test("A body that takes all the time of its route is the client's fault, before any upstream is asked")
    func bufferingWithoutTime() {
        #expect(Self.buffering(timeout: 30).nextDeadline == 35)
        #expect(Self.buffering(timeout: 30).timedOut(upstreamAcceptsBody: true, at: 35) == .refuseSlowBody)
    }

    @Test("Where a permit is waited for, the whole body is buffered until the route's time ends or memory is short")
    func wholeBody() {
        func state(bufferingTime: Int64?) -> State {
            State(
                hasBody: true, bufferingTime: bufferingTime, buffersWholeBody: true, bodyLimit: 100, timeout: 300,
                arrivedAt: 5)
        }
        for bufferingTime in [50, nil] as [Int64?] {
            let state = state(bufferingTime: bufferingTime)
            #expect(state.phase == .buffering && state.nextDeadline == 305)
            #expect(state.timedOut(upstreamAcceptsBody: true, at: 305) == .refuseSlowBody)
            #expect(state.buffering(40, of: 40, isWhole: false) == .continues)
            #expect(state.buffering(41, of: 40, isWhole: false) == .exceedsMemory)
            #expect(state.buffering(41, of: 40, isWhole: true) == .continues)
        }
    }

    @Test("A request leaves its queue when it has waited long enough, or the time of its route ends")
    func queue() {
        var state = Self.buffering()
        state.enqueue(for: 40, at: 10)
        #expect(state.phase == .queued && !state.hasResponse && state.nextDeadline == 50)
        #expect(state.timedOut(upstreamAcceptsBody: false, at: 50) == .leaveQueue)
        state.enqueue(for: 1000, at: 10)
        #expect(state.nextDeadline == 305)
        #expect(state.beginAttempt() == false)
        #expect(state.phase == .connecting && state.nextDeadline == 305)
    }

    @Test("A body that is buffered whole is sent again where its connection was never made")
    func bufferedRetry() {
        var state = Self.buffering()
        #expect(state.countBody(40) == true)
        _ = state.beginAttempt()
        #expect(fail(&state, .elsewhere) == Outcome(next: .retry, asksBudget: true))
        _ = state.beginAttempt()
        _ = state.connected(at: 20)
        state.bodySent()
        state.requestEnded()
        #expect(fail(&state, .replacing) == Outcome(next: .refuse))
    }

    // MARK: Failures

    @Test("Before the upstream can have acted on it, a request goes to another address", arguments: [false, true])
    func retry(hasBody: Bool) {
        var state = Self.started(hasBody: hasBody)
        #expect(fail(&state, .elsewhere) == Outcome(next: .retry, asksBudget: true))
        #expect(state.phase == .connecting)
        #expect(state.beginAttempt() == true, "the next attempt is a retry")
        // There are two addresses, and none is asked twice.
        #expect(fail(&state, .elsewhere) == Outcome(next: .refuse))
    }

    @Test("Without a budget nothing is sent again, but for what a stale connection lost")
    func budget() {
        var state = Self.started()
        #expect(
            fail(&state, .elsewhere, takesRetry: false) == Outcome(next: .refuse, asksBudget: true))
        var stale = Self.sent()
        #expect(fail(&stale, .replacing, addresses: 1, takesRetry: false) == Outcome(next: .retry))
        _ = stale.beginAttempt()
        #expect(fail(&stale, .replacing, addresses: 1, takesRetry: false) == Outcome(next: .refuse))
    }

    @Test("What may have been acted on is not sent again")
    func unsafe() {
        var state = Self.sent()
        #expect(fail(&state, .never) == Outcome(next: .refuse))
    }

    @Test("What a new connection lost goes to another address, in the budget, and not to an only one again")
    func lostByNewConnection() {
        var state = Self.sent()
        #expect(fail(&state, .elsewhere) == Outcome(next: .retry, asksBudget: true))
        _ = state.beginAttempt()
        _ = state.connected(at: 20)
        #expect(fail(&state, .elsewhere) == Outcome(next: .refuse))
        var only = Self.sent()
        #expect(fail(&only, .elsewhere, addresses: 1) == Outcome(next: .refuse))
    }

    @Test("Of a body that was sent, or has ended, nothing is there to be sent again")
    func sentBody() {
        var begun = Self.sent(hasBody: true)
        begun.bodySent()
        #expect(fail(&begun, .replacing) == Outcome(next: .refuse))
        var ended = Self.sent(hasBody: true)
        ended.requestEnded()
        #expect(fail(&ended, .replacing) == Outcome(next: .refuse))
        var untouched = Self.sent(hasBody: true)
        #expect(untouched.countBody(1) == true)
        #expect(fail(&untouched, .replacing) == Outcome(next: .retry))
    }

    @Test("Once a part of the response is written, only the connection's end can say that it failed")
    func abort() {
        var responding = Self.sent()
        responding.responseBegan()
        #expect(fail(&responding, .never) == Outcome(next: .abort))
        var tunnel = Self.sent()
        tunnel.tunnelBegan()
        #expect(fail(&tunnel, .never) == Outcome(next: .abort))
    }

    @Test("Whatever comes after the end changes nothing")
    func late() {
        var state = Self.sent()
        state.ended()
        #expect(fail(&state, .replacing) == Outcome(next: .nothing))
        #expect(state.phase == .ended)
    }

    @Test("An address is to blame for a whole request without a response, and for nothing else")
    func blame() {
        for retry in [State.Retry.never, .elsewhere] {
            #expect(Self.sent().isFaultOfAddress(retry))
            #expect(!Self.sent(hasBody: true).isFaultOfAddress(retry), "a body is missing")
            #expect(!Self.started().isFaultOfAddress(retry), "nothing was sent")
            var responding = Self.sent()
            responding.responseBegan()
            #expect(!responding.isFaultOfAddress(retry))
        }
        #expect(!Self.sent().isFaultOfAddress(.replacing), "a kept connection was closing")
    }

    // MARK: Time

    @Test("A probe has a third of the time, and the rest is another address's")
    func probe() {
        var state = Self.started(isProbe: true)
        #expect(state.connected(at: 30) == 120)
        #expect(state.timedOut(upstreamAcceptsBody: true, at: 120) == .fail(.elsewhere))
        #expect(fail(&state, .elsewhere) == Outcome(next: .retry, asksBudget: true))
        _ = state.beginAttempt()
        state.choose(isProbe: false)
        #expect(state.connected(at: 130) == 300)
        #expect(state.timedOut(upstreamAcceptsBody: true, at: 300) == .fail(.never))
        // One whose time was over already has none left to give.
        var late = Self.started(isProbe: true)
        #expect(late.connected(at: 400) == 400)
        #expect(late.timedOut(upstreamAcceptsBody: true, at: 400) == .fail(.never))
    }

    @Test("A probe that is cut is sent again, although it may have been acted on: it asks for nothing but a response")
    func cutProbe() {
        var state = Self.sent(isProbe: true)
        #expect(fail(&state, .never) == Outcome(next: .retry, asksBudget: true))
    }

    @Test("Nothing is sent again once the time is over, not even a probe")
    func lateRetry() {
        var connecting = Self.started(isProbe: true)
        #expect(connecting.timedOut(upstreamAcceptsBody: true, at: 300) == .fail(.never))
        #expect(fail(&connecting, .never, at: 300) == Outcome(next: .refuse))
        var waiting = Self.sent(isProbe: true)
        #expect(fail(&waiting, .never, at: 300) == Outcome(next: .refuse))
        var kept = Self.sent()
        #expect(fail(&kept, .replacing, at: 299) == Outcome(next: .retry))
        #expect(fail(&kept, .replacing, at: 300) == Outcome(next: .refuse))
    }

    @Test("A body that does not come is the client's fault, unless the upstream does not take it")
    func slowBody() {
        #expect(Self.sent(hasBody: true).timedOut(upstreamAcceptsBody: true, at: 300) == .refuseSlowBody)
        #expect(Self.sent(hasBody: true).timedOut(upstreamAcceptsBody: false, at: 300) == .fail(.never))
        var whole = Self.sent(hasBody: true)
        whole.requestEnded()
        #expect(whole.timedOut(upstreamAcceptsBody: true, at: 300) == .fail(.never))
    }

    @Test("Without a connection, or with half a response, a timeout is a failure that is not repeated")
    func timeouts() {
        #expect(Self.started(hasBody: true).timedOut(upstreamAcceptsBody: true, at: 300) == .fail(.never))
        #expect(Self.started(isProbe: true).timedOut(upstreamAcceptsBody: true, at: 100) == .fail(.never))
        var responding = Self.sent(hasBody: true)
        responding.responseBegan()
        #expect(responding.timedOut(upstreamAcceptsBody: true, at: 300) == .fail(.never))
    }
}
