import GatehouseLimits
import Testing

@Suite struct BackoffTests {
    @Test func growsToItsMaximum() {
        let backoff = Backoff(base: .milliseconds(50), maximum: .seconds(1))
        #expect(backoff.delay(afterFailures: 1, random: 1) == .milliseconds(50))
        #expect(backoff.delay(afterFailures: 2, random: 1) == .milliseconds(100))
        #expect(backoff.delay(afterFailures: 5, random: 1) == .milliseconds(800))
        #expect(backoff.delay(afterFailures: 6, random: 1) == .seconds(1))
        #expect(backoff.delay(afterFailures: 1_000_000, random: 1) == .seconds(1))
    }

    @Test func isSpreadOverHalfOfTheWait() {
        let backoff = Backoff(base: .milliseconds(50), maximum: .seconds(1))
        #expect(backoff.delay(afterFailures: 1, random: 0) == .milliseconds(25))
        for _ in 1...100 {
            let delay = backoff.delay(afterFailures: 3)
            #expect(delay >= .milliseconds(100) && delay <= .milliseconds(200))
        }
    }
}
