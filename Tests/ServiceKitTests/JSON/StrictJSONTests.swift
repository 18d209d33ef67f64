import Foundation
import GatehouseBytes
import Testing

@testable import GatehouseServiceKit

@Suite struct StrictJSONTests {
    @Test(arguments: [
        ("{}", JSONValue.object([:])),
        (" \t\r\n[ ] \n", .array([])),
        ("null", .null), ("true", .bool(true)), ("false", .bool(false)),
        ("0", .number("0")), ("-0", .number("-0")), ("10", .number("10")), ("-1.50e+07", .number("-1.50e+07")),
        ("1E5", .number("1E5")), ("0.1e-1", .number("0.1e-1")),
        (#""""#, .string("")), (#""a b""#, .string("a b")), (#""é€😀""#, .string("é€😀")),
        (#""\"\\\/\b\f\n\r\t""#, .string("\"\\/\u{8}\u{c}\n\r\t")),
        (#""\u0041\u00e9\u20AC""#, .string("Aé€")), (#""\ud83d\uDE00""#, .string("😀")),
        (#""x\u0041é\n""#, .string("xAé\n")), ("\"\u{7f}\"", .string("\u{7f}")),
        (
            #"{"a":1,"b":[true,null,{"c":"d"}]}"#,
            .object(["a": .number("1"), "b": .array([.bool(true), .null, .object(["c": .string("d")])])])
        ),
        (#"{"":0," ":1}"#, .object(["": .number("0"), " ": .number("1")])),
        // Two spellings of a name are two names (RFC 8259 §8.3).
        ("{\"\u{e9}\":1,\"e\u{301}\":2}", .object(["\u{e9}": .number("1"), "e\u{301}": .number("2")])),
    ])
    func accepts(_ text: String, _ value: JSONValue) throws {
        #expect(try JSONValue(strict: Array(text.utf8)) == value)
    }

    @Test(
        arguments: [
            // Structure
            ("", .unexpectedEnd), ("  ", .unexpectedEnd), ("{", .unexpectedEnd), ("[", .unexpectedEnd),
            (#"{"a""#, .unexpectedEnd), (#"{"a":"#, .unexpectedEnd), (#"{"a":1"#, .unexpectedEnd),
            ("[1", .unexpectedEnd),
            ("[1,", .unexpectedEnd), ("}", .unexpectedByte), ("]", .unexpectedByte), (",", .unexpectedByte),
            ("[1,]", .unexpectedByte), ("[,1]", .unexpectedByte), ("[1 2]", .unexpectedByte),
            ("[1;2]", .unexpectedByte),
            (#"{"a":1,}"#, .unexpectedByte), (#"{,"a":1}"#, .unexpectedByte), (#"{"a" 1}"#, .unexpectedByte),
            (#"{"a"::1}"#, .unexpectedByte), (#"{"a":}"#, .unexpectedByte), ("{1:1}", .unexpectedByte),
            ("{a:1}", .unexpectedByte), ("{'a':1}", .unexpectedByte), (#"{"a":1 "b":2}"#, .unexpectedByte),
            ("[}", .unexpectedByte), ("{]", .unexpectedByte), (#"{"a":1]"#, .unexpectedByte), ("[1}", .unexpectedByte),
            // What follows
            ("{}{}", .trailingBytes), ("{} x", .trailingBytes), ("1 2", .trailingBytes), ("null,", .trailingBytes),
            ("{}\0", .trailingBytes), ("[]]", .trailingBytes), (#"{}//"#, .trailingBytes),
            // Other notations
            ("// c\n{}", .unexpectedByte), ("/**/{}", .unexpectedByte), ("\u{a0}{}", .unexpectedByte),
            ("\u{c}{}", .unexpectedByte), ("\u{feff}{}", .unexpectedByte), ("NaN", .unexpectedByte),
            ("Infinity", .unexpectedByte), ("undefined", .unexpectedByte), ("True", .unexpectedByte),
            ("nul", .unexpectedEnd), ("nulL", .unexpectedByte), ("truer", .trailingBytes), ("'a'", .unexpectedByte),
            // Duplicate keys
            (#"{"a":1,"a":1}"#, .duplicateName), (#"{"a":1,"b":2,"a":3}"#, .duplicateName),
            (#"{"a":1,"\u0061":2}"#, .duplicateName), (#"{"x":{"a":1,"a":2}}"#, .duplicateName),
            (#"{"a/b":1,"a\/b":2}"#, .duplicateName),
            // Numbers
            ("01", .invalidNumber), ("-01", .invalidNumber), ("00", .invalidNumber), ("-", .invalidNumber),
            ("1.", .invalidNumber), ("1.e1", .invalidNumber), ("1e", .invalidNumber), ("1e+", .invalidNumber),
            ("-a", .invalidNumber), ("0x1", .trailingBytes), ("1_000", .trailingBytes), ("1.2.3", .trailingBytes),
            (".5", .unexpectedByte), ("+1", .unexpectedByte), ("1e5.5", .trailingBytes),
            // Strings
            (#"""#, .unexpectedEnd), (#""a"#, .unexpectedEnd), (#""a\"#, .unexpectedEnd), (#""\"#, .unexpectedEnd),
            (#""\u00"#, .unexpectedEnd), ("\"a\nb\"", .invalidString), ("\"a\tb\"", .invalidString),
            ("\"a\0b\"", .invalidString), ("\"\u{1f}\"", .invalidString), (#""\x41""#, .invalidString),
            (#""\'""#, .invalidString), (#""\U0041""#, .invalidString), (#""\u004g""#, .invalidString),
            (#""\u 041""#, .invalidString), (#""\u0000""#, .invalidString), (#""a\u0000b""#, .invalidString),
            (#""\ud83d""#, .invalidString), (#""\ud83d\n""#, .invalidString), (#""\ud83dx""#, .invalidString),
            (#""\ude00""#, .invalidString), (#""\ude00\ud83d""#, .invalidString), (#""\ud83d\ud83d""#, .invalidString),
            (#""\ud83d\u0041""#, .invalidString), ("\"\\n\n\"", .invalidString),
        ] as [(String, JSONError.Code)])
    func refuses(_ text: String, _ code: JSONError.Code) {
        let error = #expect(throws: JSONError.self) { try JSONValue(strict: Array(text.utf8)) }
        #expect(error?.code == code)
    }

    @Test(
        arguments: [
            [0xff], [0x80], [0xc0, 0xaf], [0xc1, 0x81], [0xe0, 0x80, 0xaf], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98],
            // Surrogates, beyond Unicode, five bytes
            [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xf4, 0x90, 0x80, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80],
        ] as [[UInt8]])
    func refusesWhatIsNotUTF8(_ bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        for text in [[quote] + bytes + [quote], [quote] + Array("\\n".utf8) + bytes + [quote]] {
            #expect(throws: JSONError.self) { try JSONValue(strict: text) }
        }
        let key = Array("{\"".utf8) + bytes + Array("\":1}".utf8)
        #expect(throws: JSONError.self) { try JSONValue(strict: key) }
    }

    @Test func refusesOtherEncodings() {
        let text = "{}"
        let utf16 = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        #expect(throws: JSONError.self) { try JSONValue(strict: utf16) }
        #expect(throws: JSONError.self) { try JSONValue(strict: [0xff, 0xfe] + utf16) }
        #expect(throws: JSONError.self) { try JSONValue(strict: [0xef, 0xbb, 0xbf] + Array(text.utf8)) }
    }

    @Test func capsNesting() throws {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            func nested(_ depth: Int) -> [UInt8] {
                Array((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
            }
            _ = try JSONValue(strict: nested(16))
            #expect(throws: JSONError.self) { try JSONValue(strict: nested(17)) }
            #expect(throws: JSONError.self) { try JSONValue(strict: nested(100_000)) }
        }
        #expect(throws: JSONError.self) {
            try JSONValue(strict: [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000))
        }
    }

    /// A text that is cut anywhere is refused, and one with any byte changed only accepted where Foundation does, too.
    @Test func survivesEveryCutAndEveryByte() throws {
        let text = Array(#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00é"],"b":{"c":null,"d":true}}"#.utf8)
        for end in 0..<text.count {
            #expect(throws: JSONError.self) { try JSONValue(strict: Array(text[..<end])) }
        }
        for index in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[index] = byte
                guard (try? JSONValue(strict: changed)) != nil else { continue }
                #expect(throws: Never.self, "\(index): \(byte)") {
                    try JSONSerialization.jsonObject(with: Data(changed))
                }
            }
        }
    }

    /// What is passed on stays as it was written.
    @Test(arguments: [
        (#"{"a":1,"b": {"c" : [1.0, "x"]} ,"d":null}"#, "b", #"{"c" : [1.0, "x"]}"#),
        (#"{ "a" :  1e5  }"#, "a", "1e5"), (#"{"\u0061":"\u00e9"}"#, "a", #""\u00e9""#), (#"{"a":{"b":1}}"#, "b", nil),
        ("{}", "a", nil), ("[]", "a", nil), (#"{"a":null}"#, "a", "null"),
    ])
    func aMemberKeepsItsBytes(_ text: String, _ name: String, _ value: String?) {
        let bytes = StrictJSON.bytes(ofMember: name, in: Array(text.utf8))
        #expect(bytes.map { String(decoding: $0, as: UTF8.self) } == value)
    }
}
