import Foundation
import Testing

@testable import GatehouseServiceKit

@Suite struct ReplicasTests {
    private let urls = ["http://a", "http://b/", "http://c"].map { URL(string: $0)! }

    @Test func choosesTheLessLoadedOfTwo() throws {
        let replicas = Replicas(Array(urls.prefix(2)))
        // One is loaded; whenever both are drawn, the other is taken.
        let busy = try #require(replicas.acquire()).index
        for _ in 0..<50 { _ = replicas.acquire(avoiding: 1 - busy) }
        var other = 0
        for _ in 0..<100 {
            let taken = try #require(replicas.acquire()).index
            if taken != busy { other += 1 }
            replicas.release(taken, .succeeded)
        }
        #expect(other > 50)
    }

    @Test func setsAFailingOneAsideForAWhile() throws {
        let replicas = Replicas(urls)
        let now = ContinuousClock.now
        let failing = try #require(replicas.acquire(now: now)).index
        replicas.release(failing, .failed, now: now)
        for _ in 0..<100 {
            #expect(replicas.acquire(now: now)?.index != failing)
        }
        let later = now.advanced(by: Replicas.aside)
        #expect((0..<1000).contains { _ in replicas.acquire(now: later)?.index == failing })
    }

    @Test func leavesOneAsideWhoseCallIsCancelled() throws {
        let replicas = Replicas(Array(urls.prefix(2)))
        let now = ContinuousClock.now
        let first = try #require(replicas.acquire(now: now)).index
        let second = try #require(replicas.acquire(avoiding: 1 - first, now: now)).index
        #expect(second == first)
        replicas.release(first, .failed, now: now)
        replicas.release(second, .cancelled, now: now)
        for _ in 0..<100 {
            #expect(replicas.acquire(now: now)?.index != first)
        }
        // Nor is one set aside by it.
        let other = try #require(replicas.acquire(now: now)).index
        replicas.release(other, .cancelled, now: now)
        #expect(replicas.acquire(now: now)?.index == other)
        // A success brings one back.
        let later = try #require(replicas.acquire(avoiding: other, now: now)).index
        #expect(later == first)
        replicas.release(later, .succeeded, now: now)
        #expect((0..<1000).contains { _ in replicas.acquire(now: now)?.index == first })
    }

    @Test func asksOneThatIsSetAsideIfNoOtherIsLeft() throws {
        let replicas = Replicas([urls[1]])
        let now = ContinuousClock.now
        let only = try #require(replicas.acquire(now: now))
        #expect(only.base == "http://b")
        replicas.release(only.index, .failed, now: now)
        #expect(replicas.acquire(avoiding: only.index, now: now)?.index == only.index)
        #expect(Replicas([]).acquire() == nil)
    }
}
