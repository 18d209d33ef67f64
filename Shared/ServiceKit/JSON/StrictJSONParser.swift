import Bytes

/// Makes a tree of a JSON text in a single pass.
///
/// The nesting is capped, so the recursion is too.
struct StrictJSONParser {
    static let maximumDepth = 16
    /// Bytes of a value that are taken whatever they spell, as what is kept of users may.
    static let freeValueLength = 2048

    private var lexer: JSONLexer

    init(_ bytes: [UInt8]) {
        lexer = JSONLexer(bytes)
    }

    mutating func parseDocument() throws(JSONError) -> JSONValue {
        let value = try parseValue(depth: 0)
        try lexer.end()
        return value
    }

    private mutating func parseValue(depth: Int) throws(JSONError) -> JSONValue {
        guard let first = lexer.peek() else { throw lexer.unexpected() }
        switch first {
        case UInt8(ascii: "{"): return try parseObject(depth: depth + 1)
        case UInt8(ascii: "["): return try parseArray(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try parseString(anyUpTo: Self.freeValueLength))
        case UInt8(ascii: "t"): return try parse("true", as: .bool(true))
        case UInt8(ascii: "f"): return try parse("false", as: .bool(false))
        case UInt8(ascii: "n"): return try parse("null", as: .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return .number(String(decoding: try lexer.number(), as: UTF8.self))
        default: throw lexer.unexpected()
        }
    }

    private mutating func parseObject(depth: Int) throws(JSONError) -> JSONValue {
        try lexer.expect(UInt8(ascii: "{"))
        guard depth <= Self.maximumDepth else { throw JSONError(.tooDeep, at: lexer.position) }
        var members: [VerbatimString: JSONValue] = [:]
        if lexer.take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            let name = VerbatimString(try parseString(anyUpTo: 0))
            try lexer.expect(UInt8(ascii: ":"))
            guard members.updateValue(try parseValue(depth: depth), forKey: name) == nil else {
                throw JSONError(.duplicateName, at: lexer.position)
            }
        } while lexer.take(UInt8(ascii: ","))
        try lexer.expect(UInt8(ascii: "}"))
        return .object(members)
    }

    private mutating func parseArray(depth: Int) throws(JSONError) -> JSONValue {
        try lexer.expect(UInt8(ascii: "["))
        guard depth <= Self.maximumDepth else { throw JSONError(.tooDeep, at: lexer.position) }
        var elements: [JSONValue] = []
        if lexer.take(UInt8(ascii: "]")) { return .array(elements) }
        repeat { elements.append(try parseValue(depth: depth)) } while lexer.take(UInt8(ascii: ","))
        try lexer.expect(UInt8(ascii: "]"))
        return .array(elements)
    }

    private mutating func parse(_ word: StaticString, as value: JSONValue) throws(JSONError) -> JSONValue {
        try lexer.expect(word: word)
        return value
    }

    /// A string that takes no long time to compare and has no NUL, where C strings and PostgreSQL would end.
    ///
    /// - Parameter limit: see ``StreamSafeText``.
    private mutating func parseString(anyUpTo limit: Int) throws(JSONError) -> String {
        let text = try lexer.string()
        guard !text.utf8.contains(0) else { throw JSONError(.invalidString, at: lexer.position) }
        guard StreamSafeText.isGood(text, anyUpTo: limit) else {
            throw JSONError(.notStreamSafe, at: lexer.position)
        }
        return text
    }
}
