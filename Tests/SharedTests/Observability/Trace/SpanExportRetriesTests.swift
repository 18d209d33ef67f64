import Testing

@testable import GatehouseObservability

@Suite struct SpanExportRetriesTests {
    private func steps(
        _ outcomes: [SpanExportOutcome], isStopping: Bool = false, jitter: Double = 1
    ) -> [SpanExportRetries.Step] {
        var retries = SpanExportRetries()
        return outcomes.map { retries.next(after: $0, isStopping: isStopping, jitter: jitter) }
    }

    @Test func whatIsTakenOrRefusedIsNotSentAgain() {
        #expect(steps([.taken(rejected: 0)]) == [.done(rejected: 0)])
        #expect(steps([.taken(rejected: 3)]) == [.done(rejected: 3)])
        #expect(steps([.refused]) == [.drop(.refused)])
    }

    @Test func triesAFewTimesWithGrowingPauses() {
        let unreachable = [SpanExportOutcome](repeating: .unreachable, count: 5)
        let pauses = [1, 2, 4, 8].map { SpanExportRetries.Step.again(after: .seconds($0)) }
        #expect(steps(unreachable) == pauses + [.drop(.unreachable)])
        #expect(steps(unreachable, jitter: 0)[0] == .again(after: .milliseconds(500)))
        #expect(steps([.unreachable, .taken(rejected: 0)])[1] == .done(rejected: 0))
    }

    @Test func waitsAsLongAsTheCollectorWantsWithinBounds() {
        #expect(steps([.busy(retryAfter: .seconds(7))]) == [.again(after: .seconds(7))])
        #expect(steps([.busy(retryAfter: .seconds(3600))]) == [.again(after: SpanExportRetries.longestPause)])
        #expect(steps([.busy(retryAfter: .zero)]) == [.again(after: .zero)])
        #expect(steps([.busy(retryAfter: nil)]) == [.again(after: .seconds(1))])
        let busy = [SpanExportOutcome](repeating: .busy(retryAfter: .zero), count: 5)
        #expect(steps(busy).last == .drop(.busy))
    }

    @Test func waitsForNobodyWhenTheProcessEnds() {
        #expect(steps([.busy(retryAfter: .zero)], isStopping: true) == [.drop(.busy)])
        #expect(steps([.unreachable], isStopping: true) == [.drop(.unreachable)])
        #expect(steps([.taken(rejected: 0)], isStopping: true) == [.done(rejected: 0)])
    }
}
