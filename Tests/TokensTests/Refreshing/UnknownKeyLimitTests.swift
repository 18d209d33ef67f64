import GatehouseServiceContracts
import Testing

@testable import TokensService

@Suite struct UnknownKeyLimitTests {
    /// Microseconds.
    private let start: Int64 = 1_000_000_000

    /// How many of `count` may be looked up at `now`.
    private func taken(
        _ count: Int, _ limit: UnknownKeyLimit, from address: (Int) -> String?, at now: Int64
    ) -> Int {
        (0..<count).count { index in (try? limit.take(from: address(index), at: now)) != nil }
    }

    @Test func anAddressHasTenAndOneASecond() {
        let limit = UnknownKeyLimit()
        #expect(taken(50, limit, from: { _ in "192.0.2.1" }, at: start) == 10)
        #expect(throws: Problem(.rateLimited, retryAfter: 1)) { try limit.take(from: "192.0.2.1", at: start) }
        #expect(taken(50, limit, from: { _ in "192.0.2.1" }, at: start + 3_000_000) == 3)
        #expect(taken(50, limit, from: { _ in "192.0.2.1" }, at: start + 3_600_000_000) == 10)
    }

    @Test func allTogetherHaveAHundredAndFiftyASecond() {
        let limit = UnknownKeyLimit()
        #expect(taken(300, limit, from: { _ in nil }, at: start) == 100)
        #expect(throws: Problem(.unavailable, retryAfter: 1)) { try limit.take(from: nil, at: start) }
        #expect(throws: Problem(.unavailable, retryAfter: 1)) { try limit.take(from: "192.0.2.1", at: start) }
        #expect(taken(300, limit, from: { _ in nil }, at: start + 1_000_000) == 50)
        // Addresses that have as good as one bucket each do not add up to more.
        #expect(taken(3000, limit, from: { "10.0.\($0 / 250).\($0 % 250)" }, at: start + 3_600_000_000) == 100)
    }

    @Test func whoeverHasAnIPv6AddressHasItsNetwork() {
        let limit = UnknownKeyLimit()
        #expect(taken(50, limit, from: { "2001:db8::\($0 + 1)" }, at: start) == 10)
    }

    @Test func whatIsGenuineCostsNothing() throws {
        let limit = UnknownKeyLimit()
        for _ in 0..<500 {
            try limit.take(from: "192.0.2.1", at: start)
            limit.refund(to: "192.0.2.1")
        }
        #expect(taken(50, limit, from: { _ in "192.0.2.1" }, at: start) == 10, "and gives no room for more")
    }
}
