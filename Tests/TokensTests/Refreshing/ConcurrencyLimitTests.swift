import Testing

@testable import TokensService

@Suite struct ConcurrencyLimitTests {
    typealias Instant = ContinuousClock.Instant

    let start = Instant.now

    /// Fills `limit` with work that begins at `begin` and takes so long.
    private func fill(_ limit: inout ConcurrencyLimit, at begin: Double, taking seconds: Double) {
        let begin = start + .seconds(begin)
        while limit.begin(at: begin) {}
        for _ in 0..<limit.underWay { limit.end(begunAt: begin, at: begin + .seconds(seconds)) }
    }

    @Test func noMoreIsUnderWayThanTheLimitSays() {
        var limit = ConcurrencyLimit(limit: 3)
        let first = (0..<5).map { _ in limit.begin(at: start) }
        #expect(first == [true, true, true, false, false])
        limit.end(begunAt: start, at: start)
        let second = (0..<2).map { _ in limit.begin(at: start) }
        #expect(second == [true, false])
        #expect(limit.underWay == 3)
    }

    @Test func workThatTakesLongLowersItOnceARound() {
        var limit = ConcurrencyLimit(limit: 100)
        fill(&limit, at: 0, taking: 0.6)
        #expect(Int(limit.limit) == 70, "all of that work began before the first of it ended")
        fill(&limit, at: 0.6, taking: 30)
        #expect(Int(limit.limit) == 70, "nor did this begin after the limit was lowered")
        fill(&limit, at: 0.61, taking: 0.6)
        #expect(Int(limit.limit) == 49)
    }

    @Test func itStaysWithinItsRange() {
        var limit = ConcurrencyLimit(limit: 20)
        for round in 1...10 { fill(&limit, at: Double(round) * 0.61, taking: 0.6) }
        #expect(limit.limit == ConcurrencyLimit.range.lowerBound)
        limit = ConcurrencyLimit(limit: 1023)
        for round in 0..<10 { fill(&limit, at: Double(round), taking: 0.1) }
        #expect(limit.limit == ConcurrencyLimit.range.upperBound)
    }

    /// A slow moment or two in a day must not cause a burst in the evening to be refused.
    @Test func itRecoversWithTimeFromWhatIsLongOver() {
        var limit = ConcurrencyLimit(limit: 60)
        for round in 0..<5 { fill(&limit, at: Double(round), taking: 0.6) }
        let lowered = limit.limit
        #expect(lowered < 20)
        _ = limit.begin(at: start + .seconds(10))
        #expect(limit.limit > lowered + 5 && limit.limit < 60)
        _ = limit.begin(at: start + .seconds(60))
        #expect(limit.limit == 60)
    }

    @Test("Work is quick and fills the limit: the limit rises by one a round")
    func increase() {
        var limit = ConcurrencyLimit(limit: 50)
        fill(&limit, at: 0, taking: 0.1)
        #expect((50.4...51).contains(limit.limit), "the second half shows no need")
        let raised = limit.limit
        for _ in 0..<1000 where limit.begin(at: start) { limit.end(begunAt: start, at: start) }
        #expect(limit.limit == raised, "one at a time needs no more")
    }
}
