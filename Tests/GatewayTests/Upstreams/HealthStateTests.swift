import Testing

@testable import GatewayService

@Suite("What health checks tell of an address")
struct HealthStateTests {
    @Test("Two results in a row against what is held of it change that, and nothing else does: all rows of twelve")
    func rows() {
        for row in 0..<(1 << 12) {
            var state = HealthState()
            var (isUp, against) = (true, 0)
            for bit in 0..<12 {
                let passed = row >> bit & 1 == 1
                against = passed == isUp ? 0 : against + 1
                let changes = against == 2
                if changes { (isUp, against) = (passed, 0) }
                #expect(state.checked(passed: passed) == changes)
                #expect(state.isUp == isUp)
                let quick = state.pause(.seconds(4), chance: 0.5) == .seconds(1)
                #expect(quick == (against > 0))
            }
        }
    }

    @Test("Replicas of the gateway do not ask all at once")
    func pauses() {
        var state = HealthState()
        #expect(state.pause(.seconds(10), chance: 0) == .seconds(8))
        let longest = state.pause(.seconds(10), chance: 1)
        #expect(longest > .seconds(11.99) && longest < .seconds(12.01))
        _ = state.checked(passed: false)
        #expect(state.pause(.seconds(10), chance: 0) == .seconds(2))
    }
}
