import TestKit
import Testing

@testable import GatewayService

@Suite("How many requests are sent a second time")
struct RetryBudgetTests {
    private let second: Int64 = 1_000_000_000

    @Test("A few in any case, and a share of the requests of the last ten seconds")
    func share() {
        var budget = RetryBudget()
        func retries(_ budget: inout RetryBudget, share: Double = 0.2, at second: Int64) -> Int {
            (0..<1_000).count { _ in budget.takeRetry(share: share, now: second * self.second) }
        }
        #expect(retries(&budget, at: 100) == RetryBudget.floor)
        for _ in 0..<100 { budget.countRequest(now: 100 * second) }
        #expect(retries(&budget, at: 100) == 20)
        #expect(retries(&budget, at: 109) == 0)
        #expect(retries(&budget, at: 110) == RetryBudget.floor)
        #expect(retries(&budget, at: 1_000_000) == RetryBudget.floor)
        var none = RetryBudget()
        for _ in 0..<1_000 { none.countRequest(now: 5 * second) }
        #expect(retries(&none, share: 0, at: 5) == RetryBudget.floor)
    }

    @Test("However requests and retries come, in no ten seconds there are more retries than that")
    func always() {
        var generator = SeededGenerator(seed: 11)
        for share in [0, 0.2, 1] {
            var budget = RetryBudget()
            var events: [(second: Int64, isRetry: Bool)] = []
            var now: Int64 = 0
            for _ in 0..<2_000 {
                now += Int64.random(in: 0...(second / 5), using: &generator)
                if Bool.random(using: &generator) {
                    budget.countRequest(now: now)
                    events.append((now / second, false))
                } else if budget.takeRetry(share: share, now: now) {
                    events.append((now / second, true))
                    let recent = events.reversed().prefix { $0.second > now / second - 10 }
                    let retries = recent.count { $0.isRetry }
                    #expect(Double(retries) <= 10 + share * Double(recent.count - retries))
                }
            }
            #expect(events.contains { $0.isRetry })
        }
    }
}
