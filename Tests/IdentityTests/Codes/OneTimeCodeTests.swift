import Testing

@testable import IdentityService

@Suite struct OneTimeCodeTests {
    @Test(arguments: [
        ("012345", "012345"), (" 012 345\n", "012345"), ("012-345", "012345"), ("٠١٢٣٤٥", "012345"),
        ("۰۱۲۳۴۵", "012345"), ("\u{200F}012345", "012345"), ("０１２３４５", "012345"),
    ])
    func readsWhatPeopleType(text: String, digits: String) throws {
        #expect(try OneTimeCode(text).digits == digits)
    }

    @Test(arguments: [
        "", "12345", "1234567", "12345a", "12345½", "①②③④⑤⑥", "1234.6", "+12345", "12345\u{0}6",
        String(repeating: " ", count: 60) + "123456",
    ])
    func refusesTheRest(text: String) {
        #expect(throws: Refusal.self) { try OneTimeCode(text) }
    }

    /// Each digit at each place about as often as any other: a hundred times its standard deviation would be seen at once.
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
