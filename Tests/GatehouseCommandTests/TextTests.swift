import Foundation
import GatehouseClient
import GatehouseServiceContracts
import Testing

@testable import GatehouseCommand

@Suite("Text in and out") struct TextTests {
    @Test("A secret line: what the keys do") func secretLine() {
        #expect(typed("word\n") == .done("word"))
        #expect(typed("word\r") == .done("word"))
        #expect(typed("wp\u{7F}o\u{8}ord\n") == .done("word"))
        #expect(typed("gr\u{FC}\u{7F}\u{FC}n\n") == .done("gr\u{FC}n"))
        #expect(typed("\u{7F}\u{7F}a\n") == .done("a"))
        #expect(typed("wrong\u{15}right\n") == .done("right"))
        #expect(typed("wo\u{3}") == .cancelled)
        #expect(typed("\u{4}") == .cancelled)
        #expect(typed("word\u{4}") == .done("word"))
        #expect(typed("a\tb\u{1B}c\n") == .done("abc"))
        #expect(typed("word") == .more)
        #expect(typed(String(repeating: "n", count: 5000) + "\n") == .done(String(repeating: "n", count: 4096)))
    }

    private func typed(_ keys: String) -> SecretLine.Step {
        var line = SecretLine()
        for key in keys.utf8 {
            let step = line.take(key)
            if step != .more { return step }
        }
        return .more
    }

    @Test("JSON is laid out, and nothing of it changed") func layout() {
        #expect(JSONLayout.indented(Data("{}".utf8)) == "{}")
        #expect(JSONLayout.indented(Data(" [ ] ".utf8)) == "[]")
        #expect(JSONLayout.indented(Data(#""a\\""#.utf8)) == #""a\\""#)
        #expect(
            JSONLayout.indented(Data(#"[12345678901234567890,1.0,{"b":1,"a":"\u05d0 "}]"#.utf8))
                == "[\n  12345678901234567890,\n  1.0,\n  {\n    \"b\": 1,\n    \"a\": \"\\u05d0 \"\n  }\n]")
        for text in ["", "{", "nothing", "{\"a\":1}}"] { #expect(JSONLayout.indented(Data(text.utf8)) == nil) }
    }

    @Test("What a terminal would obey is not printed") func printable() {
        #expect(
            Printable.clean("Ada \u{5E2}\u{5D3}\u{5D4} \u{1F469}\u{200D}\u{1F4BB}")
                == "Ada \u{5E2}\u{5D3}\u{5D4} \u{1F469}\u{200D}\u{1F4BB}")
        for mark in ["\u{1B}", "\u{9B}", "\n", "\r", "\u{7}", "\u{202E}", "\u{2066}", "\u{2028}", "\u{FEFF}"] {
            #expect(Printable.clean("a\(mark)b") == "a\u{FFFD}b")
        }
    }

    @Test("Columns are as wide as what stands in them") func table() {
        let table = Table(headings: ["A", "LONG", ""], rows: [["1", "2", "3"], ["four", "", ""]])
        #expect(table.text == "A     LONG\n1     2     3\nfour")
        #expect(Table(headings: ["A"], rows: []).text == "A")
    }

    @Test("Every kind of error has its exit status")
    func kinds() {
        let expected: [(GatehouseError.Kind, Int32)] = [
            (.offline, 69), (.timedOut, 69), (.unavailable, 69), (.rateLimited, 75), (.cancelled, 1), (.signedOut, 77),
            (.sessionEnded, 77), (.locked, 77), (.invalidCredentials, 77), (.invalidAppleToken, 77),
            (.accountDisabled, 77), (.identifierTaken, 1), (.weakPassword, 65), (.invalidInput, 65),
            (.reauthenticationRequired, 77), (.forbidden, 77), (.notFound, 1), (.storage, 74), (.server, 70),
            (.misuse, 64), (.refused, 1), (.unreadable, 70),
        ]
        for (kind, status) in expected {
            #expect(CommandFailure(GatehouseError(kind)).status.number == status)
        }
    }

    @Test("An error names fields, pauses and requests") func failure() {
        let failure = CommandFailure(
            GatehouseError(
                .invalidInput, code: "INVALID_REQUEST", requestID: "r-1",
                fields: [Problem.FieldError(field: "identifier", message: "is no address")],
                retryAfter: .milliseconds(1200)))
        let lines = failure.text.components(separatedBy: "\n")
        #expect(lines[0].hasPrefix("gatehouse: "))
        #expect(lines.dropFirst() == ["  identifier: is no address", "  Try again in 2 s.", "  Request r-1"])
    }
}
