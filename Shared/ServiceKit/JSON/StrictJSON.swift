import Bytes
public import Contracts
import Foundation

/// Strict decoding of untrusted JSON: RFC 8259, without its ambiguities.
///
/// Foundation's decoder accepts duplicate keys (it uses the first), trailing commas, a byte-order mark, NUL in strings,
/// and `1.0` for a whole number. This decoder refuses all of these. It also refuses text that would take long to
/// compare (``StreamSafeText``), in a name and in a value of more than 2 KiB.
public enum StrictJSON {
    /// Decodes a value. Unknown keys are ignored; `null` counts as absent; times are ISO 8601 in UTC.
    ///
    /// - Throws: `INVALID_REQUEST`, with the dotted path of the invalid field, if any.
    public static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws(Problem) -> Value {
        let tree: JSONValue
        do {
            tree = try parse(bytes)
        } catch {
            throw Problem(.invalidRequest, "The request's body is not valid JSON.")
        }
        do {
            return try Value(from: JSONValueDecoder(value: tree, codingPath: []))
        } catch let error as DecodingError {
            throw problem(for: error)
        } catch {
            throw Problem(.invalidRequest)
        }
    }

    /// The bytes of a member of a JSON object, as they were written; `nil` without such a member.
    ///
    /// - Parameter bytes: any text. Of one that ``decode(_:from:)`` refuses, the result has no meaning.
    public static func bytes(ofMember name: String, in bytes: [UInt8]) -> ArraySlice<UInt8>? {
        var parser = StrictJSONParser(bytes)
        return (try? parser.parseRange(ofMember: VerbatimString(name))).map { bytes[$0] }
    }

    static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        var parser = StrictJSONParser(bytes)
        return try parser.parseDocument()
    }

    private static func problem(for error: DecodingError) -> Problem {
        let (path, message): ([any CodingKey], String) =
            switch error {
            case .keyNotFound(let key, let context): (context.codingPath + [key], "This is missing.")
            case .valueNotFound(_, let context): (context.codingPath, "This is missing.")
            case .typeMismatch(_, let context): (context.codingPath, context.debugDescription)
            case .dataCorrupted(let context): (context.codingPath, "This has a value that is not allowed.")
            @unknown default: ([], "")
            }
        guard !path.isEmpty else {
            return Problem(.invalidRequest, "The request's body must be a JSON object.")
        }
        return .invalid(path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "."), message)
    }
}

/// Parses a JSON text to a tree in a single pass.
///
/// The nesting is capped, so the recursion is too.
struct StrictJSONParser {
    static let maximumDepth = 16
    /// A value of up to this many bytes is accepted with any text, because stored user data may contain such text.
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

    /// The place of the value of a member of the outermost object.
    mutating func parseRange(ofMember wanted: VerbatimString) throws(JSONError) -> Range<Int>? {
        try lexer.expect(UInt8(ascii: "{"))
        guard !lexer.take(UInt8(ascii: "}")) else { return nil }
        repeat {
            let name = VerbatimString(try parseString(anyUpTo: 0))
            try lexer.expect(UInt8(ascii: ":"))
            // Skips white space.
            _ = lexer.peek()
            let start = lexer.position
            _ = try parseValue(depth: 1)
            if name == wanted { return start..<lexer.position }
        } while lexer.take(UInt8(ascii: ","))
        return nil
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

    /// Parses a string that is quick to compare and has no NUL, at which C strings and PostgreSQL would end.
    ///
    /// - Parameter limit: see ``StreamSafeText``.
    private mutating func parseString(anyUpTo limit: Int) throws(JSONError) -> String {
        let text = try lexer.string()
        guard !text.utf8.contains(0) else { throw JSONError(.invalidString, at: lexer.position) }
        guard StreamSafeText.accepts(text, anyUpTo: limit) else {
            throw JSONError(.notStreamSafe, at: lexer.position)
        }
        return text
    }
}

/// A JSON text as a tree. Numbers keep their spelling.
enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([VerbatimString: JSONValue])
}

/// The body of a request without fields: empty, or an object whose fields are ignored.
public struct NoFields: Decodable, Sendable {
    private enum Field: CodingKey {}

    public init(from decoder: any Decoder) throws {
        _ = try decoder.container(keyedBy: Field.self)
    }
}
