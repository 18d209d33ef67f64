import GatehouseBytes
import Testing

@Suite("Names compared verbatim")
struct VerbatimStringTests {
    /// Each pair is one text to `String`, and the second is the longer.
    private static let equivalent = [
        ("Kitchen", "\u{212A}itchen"), ("a;b", "a\u{37E}b"), ("`", "\u{1FEF}"), ("caf\u{E9}", "cafe\u{301}"),
        ("\u{C5}", "\u{212B}"), ("\u{C5}", "A\u{30A}"), ("\u{AC00}", "\u{1100}\u{1161}"),
        ("a\u{323}\u{307}", "a\u{307}\u{323}"),
    ]

    @Test("What Unicode calls equivalent is another name", arguments: equivalent)
    func equivalents(_ one: String, _ other: String) {
        #expect(one == other)
        #expect(VerbatimString(one) != VerbatimString(other))
        #expect(!one.isVerbatim(other) && !other.isVerbatim(one))
        #expect(Set(verbatim: [one, other]).count == 2)
        #expect(!Set(verbatim: [one]).contains(other) && Set(verbatim: [one]).contains(one))
        #expect([VerbatimString(one): 1][VerbatimString(other)] == nil)
        #expect((VerbatimString(one) < VerbatimString(other)) != (VerbatimString(other) < VerbatimString(one)))
        switch VerbatimString(other) {
        case VerbatimString(one): Issue.record("matches \(one)")
        default: break
        }
    }

    @Test("The same bytes are the same name")
    func same() {
        for text in ["", "a", "caf\u{E9}", String(repeating: "x", count: 100), "\u{1F600}"] {
            let copy = String(decoding: Array(text.utf8), as: UTF8.self)
            #expect(VerbatimString(text) == VerbatimString(copy))
            #expect(VerbatimString(text).hashValue == VerbatimString(copy).hashValue)
            #expect(VerbatimString(text).description == text)
            #expect(!(VerbatimString(text) < VerbatimString(copy)))
        }
        #expect(VerbatimString("role") == "role")
        #expect([VerbatimString("b"), "a", "ab", ""].sorted() == ["", "a", "ab", "b"])
    }

    @Test("A long run of marks: it is found, and a longer one is not")
    func marks() {
        let text = "a" + String(repeating: "\u{301}\u{323}", count: 50_000)
        let names = Set(verbatim: [text, text + "b"])
        #expect(names.contains(text) && !names.contains(text + "a"))
    }
}
