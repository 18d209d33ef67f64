import GatehouseBytes
import TestKit
import Testing

@Suite struct StreamSafeTextTests {
    private static let marks = String(repeating: "\u{301}", count: 30)

    @Test(arguments: [
        "", "Ada", "Zoë 👩🏽‍🚀", "Ngữ pháp tiếng Việt", "ཨོཾ་མ་ཎི་པདྨེ་ཧཱུྃ", "שָׁלוֹם", "x" + marks, marks, marks + "x" + marks,
        String(repeating: "e\u{301}", count: 30_000), String(repeating: "é", count: 30_000),
        String(repeating: "\u{1100}\u{1161}\u{11A8}", count: 7000), String(repeating: "👨‍👩‍👧‍👦", count: 2000),
    ])
    func isWhatPeopleWrite(_ text: String) {
        #expect(StreamSafeText.accepts(text))
    }

    @Test(arguments: [
        "x" + marks + "\u{316}", marks + "\u{344}", String(repeating: "\u{302A}\u{302B}", count: 20),
        "a" + marks + "b" + marks + "\u{5B0}", CostlyText.marks(bytes: 60_000),
    ])
    func isNotWhatTakesLongToSort(_ text: String) {
        #expect(!StreamSafeText.accepts(text))
        #expect(StreamSafeText.accepts(text, anyUpTo: text.utf8.count))
        #expect(!StreamSafeText.accepts(text, anyUpTo: text.utf8.count - 1))
    }
}
