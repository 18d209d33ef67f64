import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Testing

@Suite struct JSONDecodingTests {
    struct Inner: Codable, Equatable {
        var name: String
        var level: Int?
    }

    struct Outer: Codable, Equatable {
        enum Kind: String, Codable { case small, large }

        var text: String
        var number: Int?
        var small: Int8?
        var unsigned: UInt64?
        var ratio: Double?
        var flag: Bool?
        var kind: Kind?
        var id: UUID?
        var time: Date?
        var link: URL?
        var inner: Inner?
        var list: [Inner]?
        var words: [String: String]?
    }

    private func decode(_ text: String) throws -> Outer {
        try StrictJSON.decode(Outer.self, from: Array(text.utf8))
    }

    @Test func decodesEveryType() throws {
        let id = UUID()
        let outer = try decode(
            """
            {"text":"a","number":-7,"small":127,"unsigned":18446744073709551615,"ratio":1.5,"flag":true,
             "kind":"large","id":"\(id)","time":"2026-11-20T12:00:00Z","link":"https://example.com/a",
             "inner":{"name":"b","level":3},"list":[{"name":"c"},{"name":"d","level":null}],"words":{"x":"y"}}
            """)
        #expect(
            outer
                == Outer(
                    text: "a", number: -7, small: 127, unsigned: .max, ratio: 1.5, flag: true, kind: .large, id: id,
                    time: Date(timeIntervalSince1970: 1_795_176_000), link: URL(string: "https://example.com/a"),
                    inner: Inner(name: "b", level: 3), list: [Inner(name: "c"), Inner(name: "d")],
                    words: ["x": "y"]))
    }

    /// The decoder builds it from the tree. The conformance tries one type after the other.
    @Test(arguments: [
        "null", "true", "-0", "1", "9223372036854775807", "9223372036854775808", "1.0", "1e3", "-1.5e-3", #""a\u00e4""#,
        "[]", "{}", #"[1,[true,null,"x"],{"a":{"b":[0.5]},"c":null}]"#,
    ])
    func anyValueIsThatOfItsConformance(text: String) throws {
        struct Conforming: Decodable {
            let content: JSONValue

            init(from decoder: any Decoder) throws { content = try JSONValue(from: decoder) }
        }
        let bytes = Array(text.utf8)
        let content = try StrictJSON.decode(JSONValue.self, from: bytes)
        let conforming = try StrictJSON.decode(Conforming.self, from: bytes).content
        #expect(try JSON.encode(content) == JSON.encode(conforming), "numbers may be spelled otherwise")
        let member = try StrictJSON.decode([String: JSONValue].self, from: Array(#"{"x":[\#(text)]}"#.utf8))
        #expect(member == ["x": .array([content])])
    }

    @Test func anyNumberIsFinite() throws {
        let problem = #expect(throws: Problem.self) {
            try StrictJSON.decode([String: JSONValue].self, from: Array(#"{"x":{"y":[1e400]}}"#.utf8))
        }
        #expect(problem?.errors.map(\.message) == ["This must be a number."])
    }

    @Test func ignoresUnknownFieldsAndReadsNullAsAbsent() throws {
        let outer = try decode(#"{"text":"a","number":null,"inner":null,"list":null,"other":[1.0,{"deep":1e400}]}"#)
        #expect(outer == Outer(text: "a"))
    }

    @Test(arguments: [
        ("{}", "text", "This is missing."),
        (#"{"text":null}"#, "text", "This is missing."),
        (#"{"text":1}"#, "text", "This must be a text."),
        (#"{"text":["a"]}"#, "text", "This must be a text."),
        (#"{"text":"a","number":"1"}"#, "number", "This must be a whole number."),
        (#"{"text":"a","number":1.0}"#, "number", "This must be a whole number."),
        (#"{"text":"a","number":1e0}"#, "number", "This must be a whole number."),
        (#"{"text":"a","number":9223372036854775808}"#, "number", "This must be a whole number."),
        (#"{"text":"a","number":true}"#, "number", "This must be a whole number."),
        (#"{"text":"a","small":128}"#, "small", "This must be a whole number."),
        (#"{"text":"a","unsigned":-1}"#, "unsigned", "This must be a whole number."),
        (#"{"text":"a","ratio":"1"}"#, "ratio", "This must be a number."),
        (#"{"text":"a","ratio":1e400}"#, "ratio", "This must be a number."),
        (#"{"text":"a","flag":1}"#, "flag", "This must be true or false."),
        (#"{"text":"a","flag":"true"}"#, "flag", "This must be true or false."),
        (#"{"text":"a","kind":"huge"}"#, "kind", "This has a value that is not allowed."),
        (#"{"text":"a","id":"x"}"#, "id", "This has a value that is not allowed."),
        (
            #"{"text":"a","time":"yesterday"}"#, "time",
            "This must be a time as in 2026-11-20T12:00:00Z, of the years 1970 to 9999."
        ),
        (#"{"text":"a","time":5}"#, "time", "This must be a text."),
        (#"{"text":"a","inner":"x"}"#, "inner", "This must be an object."),
        (#"{"text":"a","inner":{}}"#, "inner.name", "This is missing."),
        (#"{"text":"a","inner":{"name":"b","level":"x"}}"#, "inner.level", "This must be a whole number."),
        (#"{"text":"a","list":{}}"#, "list", "This must be a list."),
        (#"{"text":"a","list":[{"name":"b"},{"name":5}]}"#, "list.1.name", "This must be a text."),
        (#"{"text":"a","words":{"x":5}}"#, "words.x", "This must be a text."),
    ])
    func namesTheFieldThatIsWrong(_ text: String, _ field: String, _ message: String) {
        do {
            _ = try decode(text)
            Issue.record("accepted \(text)")
        } catch let problem as Problem {
            #expect(problem.code == .invalidRequest)
            #expect(problem.errors == [.init(field: field, message: message)])
        } catch {
            Issue.record(error)
        }
    }

    @Test(arguments: ["[]", "1", #""text""#, "null", "", "{"])
    func refusesWhatIsNoObject(_ text: String) {
        #expect(throws: Problem.self) { try decode(text) }
    }
}
