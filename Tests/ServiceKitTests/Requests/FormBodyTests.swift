import GatehouseServiceContracts
import Testing

@testable import GatehouseServiceKit

@Suite struct FormBodyTests {
    private func parse(_ text: String) throws -> [String: String] {
        try FormBody.parse(Array(text.utf8)).dictionary
    }

    @Test func reads() throws {
        #expect(try parse("") == [:])
        #expect(try parse("a=1&b=x+y&c=%C3%A9%2b&d=&e") == ["a": "1", "b": "x y", "c": "é+", "d": "", "e": ""])
        #expect(try parse("a=b=c&&") == ["a": "b=c"])
    }

    @Test func writesWhatItReads() throws {
        #expect(FormBody.encode([]) == "")
        #expect(FormBody.encode([("a", "1"), ("b", "x +é")]) == "a=1&b=x%20%2B%C3%A9")
        #expect(try parse(FormBody.encode([("a&b", "=c~"), ("d", "%")])) == ["a&b": "=c~", "d": "%"])
    }

    @Test(arguments: ["a=1&a=2", "a=1&%61=2", "a=%", "a=%4", "a=%zz", "a=%00", "a=%ff", "=1", "a=%C3"])
    func refuses(_ text: String) {
        #expect(throws: Problem.self) { try parse(text) }
    }

    @Test(arguments: [
        ("application/json", true), ("Application/JSON; Charset=\"UTF-8\"", true), ("application/json;v=1", true),
        ("application/json; charset=latin1", false), ("application/json; charset", false), ("text/json", false),
        ("application/jsonp", false), ("", false), (";", false),
    ])
    func readsMediaTypes(_ field: String, _ isJSON: Bool) {
        #expect(MediaType(field)?.isJSON == isJSON)
    }
}
