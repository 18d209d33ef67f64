import Testing

@testable import IdentityCore
@testable import IdentityCredentials

@Suite struct CodeRulesTests {
    @Test func askingAgainTakesLongerEachTime() {
        #expect((0...8).map(CodeRules.delay) == [0, 30, 60, 120, 240, 480, 600, 600, 600])
        #expect(CodeRules.delay(after: 1_000_000) == CodeRules.lifetime)
    }

    @Test func aCallerWaitsForTheRestOfTheDelay() {
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

    // MARK: - Digits

    @Test(arguments: [
        ("012345", "012345"), (" 012 345\n", "012345"), ("012-345", "012345"), ("٠١٢٣٤٥", "012345"),
        ("۰۱۲۳۴۵", "012345"), ("\u{200F}012345", "012345"), ("０１２３４５", "012345"),
        ("\u{FEFF}012\u{200B}345\u{2060}", "012345"), ("\u{202A}012\u{200D}345\u{202C}", "012345"),
    ])
    func digitsAreReadInEachSpelling(text: String, digits: String) throws {
        #expect(try OneTimeCode(text).digits == digits)
    }

    @Test(arguments: [
        "", "12345", "1234567", "12345a", "12345½", "①②③④⑤⑥", "1234.6", "+12345", "12345\u{0}6",
        String(repeating: " ", count: 60) + "123456",
    ])
    func otherTextIsNoCode(text: String) {
        #expect(throws: Refusal.self) { try OneTimeCode(text) }
    }

    /// Each digit is at each place about as often as any other.
    @Test func everyDigitIsAsLikelyAsAnyOther() {
        var counts = [[Int]](repeating: [Int](repeating: 0, count: 10), count: OneTimeCode.length)
        for _ in 0..<20_000 {
            let code = OneTimeCode()
            #expect(code.digits.utf8.count == OneTimeCode.length)
            for (place, digit) in code.digits.utf8.enumerated() { counts[place][Int(digit) - 48] += 1 }
        }
        // 2,000 each, with a standard deviation of 42: seven of them are one in 10^11.
        #expect(counts.joined().allSatisfy { abs($0 - 2000) < 300 }, "\(counts)")
    }
}
