import Testing

@testable import GatewayService

@Suite("The states of a connection to an upstream")
struct UpstreamConnectionMachineTests {
    typealias State = UpstreamConnectionMachine

    private static func asked() -> State {
        var state = State()
        state.begin()
        return state
    }

    private static func responding(keepsAlive: Bool = true) -> State {
        var state = asked()
        state.responseBegan(keepsAlive: keepsAlive)
        return state
    }

    /// A connection that has carried a request, and has been sent another.
    private static func reused() -> State {
        var state = responding()
        _ = state.responseEnded(isRequestComplete: true, hasInput: false)
        state.begin()
        return state
    }

    private func end(
        _ state: inout State, bodyEndsWithConnection: Bool = false, hasInput: Bool = false, isIdempotent: Bool = true
    ) -> State.AtEnd {
        state.ended(
            bodyEndsWithConnection: bodyEndsWithConnection, hasInput: hasInput, isIdempotent: isIdempotent)
    }

    @Test("It carries one request after the other")
    func reuse() {
        var state = State()
        for _ in 0..<3 {
            #expect(state.phase == .idle)
            state.begin()
            #expect(state.phase == .head)
            state.responseBegan(keepsAlive: true)
            #expect(state.phase == .body)
            #expect(state.responseEnded(isRequestComplete: true, hasInput: false) == true)
        }
    }

    @Test("It is kept only if the upstream keeps it, the request is whole and nothing came unasked")
    func kept() {
        for (keepsAlive, isComplete, hasInput) in [(false, true, false), (true, false, false), (true, true, true)] {
            var state = Self.responding(keepsAlive: keepsAlive)
            #expect(state.responseEnded(isRequestComplete: isComplete, hasInput: hasInput) == false)
            #expect(state.phase == .closed)
        }
    }

    @Test("A response that ends with the connection is whole, unless the connection was cut")
    func untilClose() {
        var state = Self.responding(keepsAlive: false)
        #expect(end(&state, bodyEndsWithConnection: true) == .responseEnded)
        #expect(state.phase == .closed)
        var cut = Self.responding(keepsAlive: false)
        cut.cut()
        #expect(end(&cut, bodyEndsWithConnection: true) == .failed(.never))
        var early = Self.responding()
        #expect(end(&early) == .failed(.never))
    }

    @Test("What a kept connection lost before a byte came may be sent again, if it may be sent twice")
    func stale() {
        var state = Self.reused()
        #expect(end(&state) == .failed(.replacing))
        var post = Self.reused()
        #expect(end(&post, isIdempotent: false) == .failed(.never))
        var begun = Self.reused()
        #expect(end(&begun, hasInput: true) == .failed(.never))
        var interim = Self.reused()
        #expect(interim.receivedInterim() == true)
        #expect(end(&interim) == .failed(.never))
        var new = Self.asked()
        #expect(end(&new) == .failed(.elsewhere), "the server may be stopping")
    }

    @Test("Interim responses are counted for each request")
    func interim() {
        var state = Self.asked()
        for _ in 0..<State.interimLimit { #expect(state.receivedInterim() == true) }
        #expect(state.receivedInterim() == false)
        var reused = Self.asked()
        for _ in 0..<State.interimLimit { _ = reused.receivedInterim() }
        reused.responseBegan(keepsAlive: true)
        _ = reused.responseEnded(isRequestComplete: true, hasInput: false)
        reused.begin()
        #expect(reused.receivedInterim() == true)
    }

    @Test("A WebSocket leaves the pool, and ends with the connection")
    func tunnel() {
        var state = Self.asked()
        #expect(!state.isDetached)
        state.tunnelBegan()
        #expect(state.phase == .tunnel && state.isDetached)
        #expect(end(&state) == .tunnelEnded)
        #expect(state.isDetached, "the pool does not count it afterwards either")
    }

    @Test("An event stream leaves the pool, which gets its connection back in no case")
    func eventStream() {
        var state = Self.asked()
        state.responseBegan(keepsAlive: true, isEventStream: true)
        #expect(state.phase == .body && state.isDetached)
        let isKept = state.responseEnded(isRequestComplete: true, hasInput: false)
        #expect(!isKept && state.isDetached)
    }

    @Test("One that the gateway closes carries nothing more")
    func closed() {
        var state = Self.asked()
        state.close()
        #expect(state.phase == .closed)
        #expect(end(&state) == .failed(.never))
    }
}
