import Testing

@testable import IdentityService

@Suite struct CodeRulesTests {
    @Test func askingAgainTakesLongerEachTime() {
        #expect((0...8).map(CodeRules.delay) == [0, 30, 60, 120, 240, 480, 600, 600, 600])
        #expect(CodeRules.delay(after: 1_000_000) == CodeRules.lifetime)
    }

    @Test func waitsForWhatIsLeft() {
        #expect(CodeRules.wait(after: 0, lastOneOfAge: 0) == nil)
        for asked in 1...10 {
            let delay = Double(CodeRules.delay(after: asked))
            #expect(CodeRules.wait(after: asked, lastOneOfAge: 0) == Int(delay))
            #expect(CodeRules.wait(after: asked, lastOneOfAge: delay - 0.001) == 1)
            #expect(CodeRules.wait(after: asked, lastOneOfAge: delay) == nil)
            // Clocks may be set back.
            #expect(CodeRules.wait(after: asked, lastOneOfAge: -1) == Int(delay) + 1)
        }
    }

    @Test func aStrangerLeavesTriesToTheDeviceThatAsked() {
        for tries in 0...6 {
            for charged in 0...tries {
                let own = tries - charged
                let others: CodeRules.Payer? = charged < 3 ? .allowance : nil
                #expect(
                    CodeRules.payer(tries: tries, charged: charged, isBound: true) == (own < 2 ? .request : others))
                #expect(CodeRules.payer(tries: tries, charged: charged, isBound: false) == others)
            }
        }
    }
}
