import Testing

@testable import GatewayService

@Suite("Permits of requests in flight")
struct RequestPermitsTests {
    private typealias Rule = RequestPermits.Rule

    @Test("However few permits there are: never more than all, and the reserve is Gatehouse's alone")
    func bounds() {
        for limit in 1...24 {
            let rule = Rule(limit: limit)
            for teams in 0...limit {
                for gatehouse in 0...(limit - teams) {
                    for used in 0...limit {
                        func admits(_ isGatehouse: Bool) -> Bool {
                            rule.admits(isGatehouse: isGatehouse, used: used, teams: teams, gatehouse: gatehouse)
                        }
                        let free = limit - teams - gatehouse
                        if free == 0 { #expect(!admits(true) && !admits(false)) }
                        if teams >= limit - rule.reserve { #expect(!admits(false)) }
                        // One that uses nothing finds a permit wherever one is free to it.
                        if free > 0, used == 0 { #expect(admits(true)) }
                        if free > 0, used == 0, teams < limit - rule.reserve { #expect(admits(false)) }
                    }
                }
            }
        }
    }

    @Test("Any number of upstreams that hang leave permits for one more, and for Gatehouse's own services")
    func hanging() {
        for limit in [16, 64, 4096] {
            let rule = Rule(limit: limit)
            for count in 1...3 {
                var used = Array(repeating: 0, count: count)
                for turn in 0..<(limit * count)
                where
                    rule.admits(
                        isGatehouse: false, used: used[turn % count], teams: used.reduce(0, +), gatehouse: 0)
                { used[turn % count] += 1 }
                let teams = used.reduce(0, +)
                #expect(teams <= (limit - rule.reserve) * 2 * count / (2 * count + 1) + count, "\(used)")
                #expect(rule.admits(isGatehouse: false, used: 0, teams: teams, gatehouse: 0))
                // One of Gatehouse's own that hangs leaves room for the others, too.
                var own = 0
                while rule.admits(isGatehouse: true, used: own, teams: teams, gatehouse: own) { own += 1 }
                #expect(own >= rule.reserve / 2)
                #expect(rule.admits(isGatehouse: true, used: 0, teams: teams, gatehouse: own))
            }
        }
        #expect(Rule(limit: 4096).reserve == 1024)
        #expect(Rule(limit: 4096).admits(isGatehouse: false, used: 2047, teams: 2047, gatehouse: 0))
        #expect(!Rule(limit: 4096).admits(isGatehouse: false, used: 2048, teams: 2048, gatehouse: 0))
    }

    @Test("Permits are released whole, and no address has more than its part")
    func addresses() throws {
        let permits = RequestPermits(limit: 64, addressLimit: 4)
        let shares = [RequestPermits.Share(isGatehouse: false), RequestPermits.Share(isGatehouse: true)]
        for _ in 0..<100 {
            var taken: [RequestPermits.Permit] = []
            for number in 0..<4 {
                taken.append(try #require(permits.take(shares[number % 2], of: AddressKey(value: 1))))
            }
            for share in shares { #expect(permits.take(share, of: AddressKey(value: 1)) == nil) }
            for permit in taken { permits.release(permit) }
        }
        // As many as there are: nothing was lost.
        var count = 0
        while permits.take(shares[1], of: AddressKey(value: UInt64(count) << 32 | 2)) != nil { count += 1 }
        #expect(count == 43)
    }

    @Test("Streams have no more than all permits, and a network no more than its part of them")
    func streams() throws {
        let permits = StreamPermits(limit: 6, networkLimit: 4)
        // Two /64 of one /48, and other networks.
        let prefix: UInt64 = 0x2001_0db8_0001_0000
        let (home, other) = ([prefix | 1, prefix | 2].map(AddressKey.init), AddressKey(value: prefix << 1))
        for _ in 0..<100 {
            var taken: [StreamPermits.Permit] = []
            for number in 0..<4 { taken.append(try #require(permits.take(for: home[number % 2]))) }
            for address in home { #expect(permits.take(for: address) == nil && !permits.hasRoom(for: address)) }
            #expect(permits.hasRoom(for: other))
            for _ in 0..<2 { taken.append(try #require(permits.take(for: other))) }
            #expect(permits.take(for: other) == nil && !permits.hasRoom(for: other) && permits.inUse == 6)
            for permit in taken { permits.release(permit) }
            #expect(permits.inUse == 0)
        }
    }

    @Test("Event loops that take and leave at once never have more than all, and lose nothing")
    func threads() async throws {
        let limit = 32
        let permits = RequestPermits(limit: limit, addressLimit: limit)
        let counted = CountedPermits()
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<4 {
                let share = RequestPermits.Share(isGatehouse: true)
                tasks.addTask {
                    for _ in 0..<5000 {
                        guard let permit = permits.take(share, of: AddressKey(value: UInt64(number))) else { continue }
                        #expect(counted.take(upTo: limit))
                        counted.release()
                        permits.release(permit)
                    }
                }
            }
        }
        #expect(counted.inUse == 0)
        let share = RequestPermits.Share(isGatehouse: true)
        var taken: [RequestPermits.Permit] = []
        while let permit = permits.take(share, of: AddressKey(value: 9)) { taken.append(permit) }
        #expect(taken.count == 22, "two thirds of all: none is taken")
    }
}
