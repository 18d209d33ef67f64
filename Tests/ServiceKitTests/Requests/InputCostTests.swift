import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import GatehouseServiceKit

/// What a stranger may send costs CPU time in proportion to its length, whatever it spells.
@Suite struct InputCostTests {
    struct Body: Decodable {
        enum Kind: String, Decodable { case first, second, third }

        var text: String?
        var kind: Kind?
        var whole: Int64?
        var ratio: Double?
        var id: UUID?
        var time: Date?
        var link: URL?
        var list: [String]?
        var words: [String: String]?
        var inner: [Inner]?
    }

    struct Inner: Decodable {
        var text: String?
    }

    struct Shape: Sendable, CustomTestStringConvertible {
        var name: String
        /// So many bytes of it, about.
        var make: @Sendable (Int) -> String
        var testDescription: String { name }

        init(_ name: String, _ make: @escaping @Sendable (Int) -> String) {
            self.name = name
            self.make = make
        }

        /// One piece again and again between two others.
        init(_ name: String, _ before: String, _ piece: String, _ after: String) {
            self.init(name) { before + String(repeating: piece, count: $0 / piece.utf8.count) + after }
        }

        /// Members of an object, each made of its number.
        init(_ name: String, members: @escaping @Sendable (String) -> String) {
            self.init(name) { length in
                var members = (0..<length).lazy.map { members(String($0, radix: 36)) }.makeIterator()
                var text = "{" + (members.next() ?? "")
                while text.utf8.count < length, let next = members.next() { text += "," + next }
                return text + "}"
            }
        }
    }

    static let bodies: [Shape] = [
        Shape("letters", #"{"text":""#, "x", #""}"#),
        Shape("escapes", #"{"text":""#, #"\u0041"#, #""}"#),
        Shape("surrogates", #"{"text":""#, #"\ud83d\ude00"#, #""}"#),
        Shape("marks in a value") { #"{"text":"\#(CostlyText.marks(bytes: $0))"}"# },
        Shape("marks in a choice") { #"{"kind":"\#(CostlyText.marks(bytes: $0, after: "f"))"}"# },
        Shape("marks by escapes", #"{"kind":"f"#, #"\u0301\u0316"#, #""}"#),
        Shape("marks in two names") { length in
            let name = CostlyText.marks(bytes: length / 2)
            return #"{"\#(name)":1,"\#(name)b":2}"#
        },
        Shape("marks in many names") { length in
            let name = CostlyText.marks(bytes: 512)
            let members = (0..<length / 520).map { #""\#(name)\#($0)":1"# }
            return "{" + members.joined(separator: ",") + "}"
        },
        Shape("names", members: { #""\#($0)":0"# }),
        Shape("long names", members: { #""aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\#($0)":0"# }),
        Shape("objects", members: { #""\#($0)":{}"# }),
        Shape("a name twice at the end") { length in
            let names = (0..<length / 8).map { #""\#($0)":0"# }
            return "{" + names.joined(separator: ",") + #","0":1}"#
        },
        Shape("words") { length in
            let words = (0..<length / 10).map { #""\#($0)":"""# }
            return #"{"words":{"# + words.joined(separator: ",") + "}}"
        },
        Shape("list of words", #"{"list":["#, #""","#, #"""]}"#),
        Shape("list of objects", #"{"inner":["#, #"{"text":""},"#, "{}]}"),
        Shape("unknown list", #"{"other":["#, "0,", "0]}"),
        Shape("unknown lists of lists", #"{"other":["#, "[[[[[[[[[[[[[]]]]]]]]]]]]],", "[]]}"),
        Shape("too deep", "", "[", ""),
        Shape("digits", #"{"whole":"#, "1", "}"),
        Shape("digits of a fraction", #"{"ratio":0."#, "1", "}"),
        Shape("digits and a great exponent", #"{"ratio":"#, "9", "e-60000}"),
        Shape("halfway between two numbers", #"{"ratio":9007199254740993."#, "0", "1}"),
        Shape("identifier", #"{"id":""#, "1", #""}"#),
        Shape("time", #"{"time":""#, "1", #""}"#),
        Shape("address", #"{"link":"http://a/"#, "%41", #""}"#),
        Shape("white space", "{", " ", "}"),
        Shape("NUL at the end", #"{"text":""#, "é", "\u{0}\"}"),
    ]

    @Test(arguments: bodies)
    func ofJSON(_ shape: Shape) {
        expectProportion(shape) { _ = try? StrictJSON.decode(Body.self, from: $0) }
    }

    static let forms: [Shape] = [
        Shape("parameters") { length in (0..<length / 6).map { "\($0)=" }.joined(separator: "&") },
        Shape("a name twice", "", "a&", "a"),
        Shape("separators", "", "&", ""),
        Shape("equals signs", "a", "=", ""),
        Shape("escapes", "a=", "%41", ""),
        Shape("marks in two names") { length in
            let name = CostlyText.marks(bytes: length / 2)
            return "\(name)=1&\(name)b=2"
        },
        Shape("marks by escapes in a name", "a", "%CC%81%CC%96", "=1&b=1"),
    ]

    @Test(arguments: forms)
    func ofForms(_ shape: Shape) {
        expectProportion(shape) { _ = try? FormBody.parse($0) }
    }

    @Test(arguments: [
        Shape("marks") { CostlyText.marks(bytes: $0) },
        Shape("parameters", "application/json", ";", ""),
        Shape("charsets", "application/json", ";charset=utf-8", ""),
    ])
    func ofMediaTypes(_ shape: Shape) {
        expectProportion(shape) { _ = MediaType(String(decoding: $0, as: UTF8.self))?.isJSON }
    }

    /// What grows with the square takes 64 times as long for 8 times the length.
    private func expectProportion(_ shape: Shape, _ work: ([UInt8]) -> Void) {
        let (short, long) = (Array(shape.make(4000).utf8), Array(shape.make(32_000).utf8))
        let limit = leastCPUTime { work(short) } * 24 + .milliseconds(3)
        #expect(leastCPUTime(aimingUnder: limit) { work(long) } < limit)
    }

    @Test func aFormHasSoManyParametersAtMost() throws {
        func form(_ count: Int) -> [UInt8] {
            Array((0..<count).map { "a\($0)=\($0)" }.joined(separator: "&").utf8)
        }
        #expect(try FormBody.parse(form(FormBody.maximumParameters))["a100"] == "100")
        #expect(throws: Problem.self) { try FormBody.parse(form(FormBody.maximumParameters + 1)) }
    }

    /// What is kept of users is read whatever it spells: a display name may have 1,600 bytes.
    @Test func shortTextMaySpellAnything() throws {
        let text = CostlyText.marks(bytes: 2047)
        let body = try StrictJSON.decode(Body.self, from: Array(#"{"text":"\#(text)"}"#.utf8))
        #expect(body.text.map { Array($0.utf8) } == Array(text.utf8))
        #expect(try FormBody.parse(Array("a=\(text)".utf8))["a"]?.utf8.count == text.utf8.count)
    }
}

/// The same through a socket: what is no body at all.
@Suite struct HeadCostTests {
    private func answer(to lines: [String]) async throws -> String {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            let head = lines + ["Host: a", "Connection: close"]
            return try await rawExchange(service.url, [head.joined(separator: "\r\n") + "\r\n\r\n"]).answer
        }
    }

    @Test(arguments: ["Expect", "Connection", "Content-Type", "X-Request-Id", "traceparent", "Gatehouse-Role", "X"])
    func aFieldThatTakesLongToCompareIsAsIfAbsent(_ name: String) async throws {
        let answer = try await answer(to: ["GET /v1/seen HTTP/1.1", "\(name): \(CostlyText.marks(bytes: 15_000))"])
        #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer.prefix(200))")
    }

    @Test func fieldsInOtherLanguagesAreKept() async throws {
        let answer = try await answer(to: [
            "GET /v1/seen HTTP/1.1", "User-Agent: \(String(repeating: "Größe", count: 1000))",
        ])
        #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer.prefix(200))")
    }

    @Test(arguments: [
        "/v1/seen/", "/v1//seen", "/v1/s\u{E9}en", "/v1/seen\u{301}", "/" + CostlyText.marks(bytes: 15_000),
    ])
    func aPathThatIsSpelledOtherwiseIsNotFound(_ path: String) async throws {
        let answer = try await answer(to: ["GET \(path) HTTP/1.1"])
        #expect(answer.hasPrefix("HTTP/1.1 404 ") || answer.hasPrefix("HTTP/1.1 400 "), "\(answer.prefix(200))")
    }

    @Test(arguments: [
        ("/", true), ("/a", true), ("/a/b", true), ("", true), ("a", true), ("//", false), ("/a/", false),
        ("//a", false), ("/a//b", false), ("/\u{E9}", false), ("/a\u{301}", false),
    ])
    func pathsAreSpelledInOneWay(_ path: String, _ isGood: Bool) {
        #expect(RoutingResponder.isCanonical(path) == isGood)
    }
}
