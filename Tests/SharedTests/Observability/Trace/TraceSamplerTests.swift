import TestKit
import Testing

@testable import GatehouseObservability

@Suite struct TraceSamplerTests {
    @Test func whoMayDecideDoes() {
        for percent in [0.0, 1, 50, 100] {
            for random in [UInt64.min, .max / 2, .max] {
                let sampler = TraceSampler(percent: percent)
                #expect(sampler.samples(parent: true, isTrusted: true, random: random))
                #expect(!sampler.samples(parent: false, isTrusted: true, random: random))
            }
        }
    }

    @Test func strangersAndBeginningsAreAShare() {
        for (parent, isTrusted) in [(true, false), (false, false), (nil, true), (nil, false)] as [(Bool?, Bool)] {
            func samples(_ percent: Double, _ random: UInt64) -> Bool {
                TraceSampler(percent: percent).samples(parent: parent, isTrusted: isTrusted, random: random)
            }
            #expect([UInt64.min, .max].allSatisfy { samples(100, $0) && !samples(0, $0) })
            #expect(samples(50, .max / 2) && !samples(50, .max / 2 + 1))
            var generator = SeededGenerator(seed: 7)
            let share = (0..<100_000).count { _ in samples(1, generator.next()) }
            #expect((800...1200).contains(share))
        }
    }

    @Test func aShareBeyondTheBoundsIsTheNearestOfThem() {
        #expect(TraceSampler(percent: 1000) == TraceSampler(percent: 100))
        #expect(TraceSampler(percent: -1) == TraceSampler(percent: 0))
    }
}
