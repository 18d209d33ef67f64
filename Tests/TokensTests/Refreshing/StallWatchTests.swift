import Foundation
import Testing

@testable import TokensService

@Suite struct StallWatchTests {
    let watch = StallWatch(raceWindow: 5)
    let start = ContinuousClock.now

    func arrival(ofReadAt seconds: Double) -> Double {
        (watch.arrival(ofReadAt: start + .seconds(seconds)) - start) / .seconds(1)
    }

    @Test func aProcessThatRunsReadsWhatHasJustCome() {
        #expect(arrival(ofReadAt: 100) == 100, "nobody has looked at the clock")
        for beat in 0..<10 { watch.beat(at: start + .seconds(beat)) }
        #expect(arrival(ofReadAt: 9) == 9)
        #expect(arrival(ofReadAt: 11.5) == 11.5, "late by less than half the race window")
    }

    @Test func whatIsReadAfterAStallMayHaveComeAtItsStart() {
        watch.beat(at: start)
        #expect(arrival(ofReadAt: 60) == 0, "before the first look after the stall")
        watch.beat(at: start + .seconds(60))
        #expect(arrival(ofReadAt: 60.9) == 0)
        watch.beat(at: start + .seconds(60.9))
        #expect(arrival(ofReadAt: 61) == 61, "what has waited is read by then")
        #expect(arrival(ofReadAt: -1) == -1, "read before the stall")
    }

    @Test func withoutARaceWindowASecondIsAStall() {
        let watch = StallWatch(raceWindow: 0)
        watch.beat(at: start)
        #expect(watch.arrival(ofReadAt: start + .seconds(0.9)) == start + .seconds(0.9))
        #expect(watch.arrival(ofReadAt: start + .seconds(1.1)) == start)
    }
}
