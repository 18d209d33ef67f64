import GatehouseBytes
import Testing

/// What both of its readers rely on; what they refuse beyond it is tested with them.
@Suite struct JSONLexerTests {
    @Test func readsTheTokensOfAText() throws {
        var lexer = JSONLexer(Array(#" { "a\u0000\ud83d\ude00é" : [ -1.5e+7 , true ] } "#.utf8))
        try lexer.expect(UInt8(ascii: "{"))
        #expect(try lexer.string() == "a\u{0}😀é")
        try lexer.expect(UInt8(ascii: ":"))
        try lexer.expect(UInt8(ascii: "["))
        #expect(String(decoding: try lexer.number(), as: UTF8.self) == "-1.5e+7")
        #expect(lexer.take(UInt8(ascii: ",")) && !lexer.take(UInt8(ascii: ",")))
        #expect(lexer.peek() == UInt8(ascii: "t"))
        try lexer.expect(word: "true")
        try lexer.expect(UInt8(ascii: "]"))
        try lexer.expect(UInt8(ascii: "}"))
        try lexer.end()
        #expect(lexer.peek() == nil)
    }

    @Test func tellsWhatIsWrongAndWhere() {
        func error(_ text: String, _ read: (inout JSONLexer) throws(JSONError) -> Void) -> JSONError? {
            var lexer = JSONLexer(Array(text.utf8))
            do {
                try read(&lexer)
                return nil
            } catch {
                return error
            }
        }
        #expect(error("  x") { (lexer) throws(JSONError) in try lexer.expect(UInt8(ascii: "{")) }?.offset == 2)
        #expect(error("") { (lexer) throws(JSONError) in _ = try lexer.string() }?.code == .unexpectedEnd)
        #expect(error(#""\ud83d""#) { (lexer) throws(JSONError) in _ = try lexer.string() }?.code == .invalidString)
        #expect(error("\"\u{1}\"") { (lexer) throws(JSONError) in _ = try lexer.string() }?.code == .invalidString)
        #expect(error("01") { (lexer) throws(JSONError) in _ = try lexer.number() }?.code == .invalidNumber)
        #expect(
            error("1 2") { (lexer) throws(JSONError) in
                _ = try lexer.number()
                try lexer.end()
            }?.code == .trailingBytes)
    }
}
