import Testing

@testable import GatehouseClient

@Suite("When a client connects again to an event stream")
struct EventStreamResumptionTests {
    private func opened(isIdempotent: Bool = true) -> EventStreamResumption {
        var resumption = EventStreamResumption(isIdempotent: isIdempotent)
        resumption.opened()
        return resumption
    }

    @Test("The pauses double while attempts fail, and begin anew with a response")
    func pauses() {
        var resumption = opened()
        var pauses: [EventStreamResumption.Decision] = []
        pauses.append(resumption.decision(after: nil, random: 0))
        for _ in 0..<5 { pauses.append(resumption.decision(after: GatehouseError(.offline), random: 0)) }
        resumption.opened()
        pauses.append(resumption.decision(after: GatehouseError(.timedOut), random: 1))
        #expect(pauses == [3, 6, 12, 24, 30, 30, 4.5].map { .reconnect(.seconds($0)) })
    }

    @Test("The server's retry and Retry-After count")
    func serversPauses() {
        var resumption = opened()
        resumption.received(lastEventID: "7", retry: .seconds(60))
        #expect(resumption.lastEventID == "7")
        #expect(resumption.decision(after: nil, random: 0) == .reconnect(.seconds(60)))
        #expect(resumption.decision(after: nil, random: 0) == .reconnect(.seconds(60)))
        resumption.received(lastEventID: nil, retry: nil)
        #expect(resumption.lastEventID == nil)
        let busy = GatehouseError(.unavailable, retryAfter: .seconds(90))
        #expect(resumption.decision(after: busy, random: 0) == .reconnect(.seconds(90)))
    }

    @Test("No new attempt for a refusal, before the first response, or for a request that is not idempotent")
    func fails() {
        let (refusal, loss) = (GatehouseError(.forbidden), GatehouseError(.unavailable))
        var resumption = opened()
        #expect(resumption.decision(after: refusal, random: 0) == .fail(refusal))
        var unopened = EventStreamResumption(isIdempotent: true)
        #expect(unopened.decision(after: loss, random: 0) == .fail(loss))
        var posted = opened(isIdempotent: false)
        #expect(posted.decision(after: loss, random: 0) == .fail(loss))
        #expect(posted.decision(after: nil, random: 0) == .finish)
    }
}
