import GatehouseServiceKit
import Testing

@Suite struct StallRecordTests {
    let start = ContinuousClock.now

    private func wait(_ record: StallRecord, ofReadAt seconds: Double) -> Double {
        record.wait(ofReadAt: start + .seconds(seconds)) / .seconds(1)
    }

    @Test func aLoopThatRunsReadsWhatHasJustCome() {
        var record = StallRecord()
        #expect(wait(record, ofReadAt: 100) == 0, "the loop has not looked at the clock")
        for beat in 0..<10 { record.beat(at: start + .seconds(beat)) }
        #expect(wait(record, ofReadAt: 9) == 0)
        #expect(wait(record, ofReadAt: 10) == 0, "late by a second at most")
    }

    @Test("A request is read after a stall: it may have arrived at the start of the stall")
    func requestAfterAStall() {
        var record = StallRecord()
        record.beat(at: start)
        #expect(wait(record, ofReadAt: 60) == 60, "before the first look after the stall")
        record.beat(at: start + .seconds(60))
        #expect(wait(record, ofReadAt: 60.5) == 60.5)
        record.beat(at: start + .seconds(60.5))
        #expect(wait(record, ofReadAt: 61) == 0, "what has waited is read by then")
        #expect(wait(record, ofReadAt: -1) == 0, "read before the stall")
    }

    /// A connection that was established during the stall is accepted shortly after it.
    @Test func aConnectionThatWasOpenedAfterAStallHasNoOldRequest() {
        var record = StallRecord()
        record.beat(at: start)
        record.beat(at: start + .seconds(60))
        func wait(openedAt seconds: Double) -> Double {
            record.wait(ofReadAt: start + .seconds(60.5), openedAt: start + .seconds(seconds)) / .seconds(1)
        }
        #expect(wait(openedAt: -5) == 60.5)
        #expect(wait(openedAt: 60.01) == 60.5)
        #expect(wait(openedAt: 60.2) == 0)
        #expect(wait(openedAt: 60.5) == 0)
    }
}
