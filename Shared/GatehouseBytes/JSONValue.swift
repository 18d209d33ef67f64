/// Any JSON value. Numbers keep their spelling.
public enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([VerbatimString: JSONValue])

    /// A whole number.
    public static func integer(_ value: Int64) -> JSONValue { .number(String(value)) }

    /// The value of a number, unless it is too large.
    public var double: Double? {
        guard case .number(let text) = self, let double = Double(text), double.isFinite else { return nil }
        return double
    }
}

extension JSONValue {
    /// Reads a JSON text strictly: RFC 8259, without its ambiguities.
    ///
    /// It refuses names that occur twice in an object, NUL in strings, nesting deeper than 16, and text that would take
    /// long to compare (``StreamSafeText``), in a name and in a value of more than 2 KiB.
    public init(strict bytes: [UInt8]) throws(JSONError) {
        var parser = Parser(bytes)
        self = try parser.parseDocument()
    }

    /// The place of the value of a member of the outermost object; `nil` without such a member.
    ///
    /// - Parameter bytes: any text. Of one that ``init(strict:)`` refuses, the result has no meaning.
    public static func range(ofMember name: VerbatimString, in bytes: [UInt8]) -> Range<Int>? {
        var parser = Parser(bytes)
        return try? parser.parseRange(ofMember: name)
    }
}

extension JSONValue {
    /// Parses a JSON text to a tree in a single pass.
    ///
    /// The nesting is capped, so the recursion is too.
    private struct Parser {
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
}

/// For Foundation's decoders and encoders. They read and write numbers as `Int64` or `Double`.
extension JSONValue: Codable {
    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    public init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Key.self) {
            self = .object(
                try members.allKeys.reduce(into: [:]) { object, key in
                    object[VerbatimString(key.stringValue)] =
                        try members.decodeNil(forKey: key) ? .null : members.decode(JSONValue.self, forKey: key)
                })
        } else if var elements = try? decoder.unkeyedContainer() {
            var array: [JSONValue] = []
            while !elements.isAtEnd {
                array.append(try elements.decodeNil() ? .null : elements.decode(JSONValue.self))
            }
            self = .array(array)
        } else {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() {
                self = .null
            } else if let bool = try? value.decode(Bool.self) {
                self = .bool(bool)
            } else if let string = try? value.decode(String.self) {
                self = .string(string)
            } else if let integer = try? value.decode(Int64.self) {
                self = .integer(integer)
            } else {
                self = .number("\(try value.decode(Double.self))")
            }
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: Key.self)
            for (name, value) in members { try container.encode(value, forKey: Key(stringValue: name.text)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let bool): try container.encode(bool)
            case .string(let string): try container.encode(string)
            case .number(let text):
                if let integer = Int64(text) { return try container.encode(integer) }
                guard let double else {
                    throw EncodingError.invalidValue(
                        self, .init(codingPath: encoder.codingPath, debugDescription: "This must be a number."))
                }
                try container.encode(double)
            default: try container.encodeNil()
            }
        }
    }
}
