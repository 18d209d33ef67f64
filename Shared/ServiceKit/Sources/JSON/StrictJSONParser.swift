import Verbatim

/// Reads a JSON text in a single pass.
///
/// The nesting is capped, so the recursion is too.
struct StrictJSONParser {
    static let maximumDepth = 16
    /// Bytes of a value that are taken whatever they spell, as what is kept of users may.
    static let freeValueLength = 2048

    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0

    /// - Parameter bytes: must outlive the parser.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    mutating func parseDocument() throws(StrictJSONError) -> JSONValue {
        skipWhitespace()
        let value = try parseValue(depth: 0)
        skipWhitespace()
        guard index == bytes.count else { throw error(.trailingBytes) }
        return value
    }

    // MARK: Values

    private mutating func parseValue(depth: Int) throws(StrictJSONError) -> JSONValue {
        switch try peek() {
        case UInt8(ascii: "{"): return try parseObject(depth: depth + 1)
        case UInt8(ascii: "["): return try parseArray(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try parseString(anyUpTo: Self.freeValueLength))
        case UInt8(ascii: "t"): return try parseLiteral("true", .bool(true))
        case UInt8(ascii: "f"): return try parseLiteral("false", .bool(false))
        case UInt8(ascii: "n"): return try parseLiteral("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try parseNumber())
        default: throw error(.unexpectedByte)
        }
    }

    private mutating func parseObject(depth: Int) throws(StrictJSONError) -> JSONValue {
        guard depth <= Self.maximumDepth else { throw error(.tooDeep) }
        index += 1
        var members: [VerbatimString: JSONValue] = [:]
        skipWhitespace()
        if try peek() == UInt8(ascii: "}") {
            index += 1
            return .object(members)
        }
        while true {
            guard try peek() == UInt8(ascii: "\"") else { throw error(.unexpectedByte) }
            let keyOffset = index
            let key = VerbatimString(try parseString(anyUpTo: 0))
            skipWhitespace()
            guard try next() == UInt8(ascii: ":") else { throw error(.unexpectedByte, at: index - 1) }
            skipWhitespace()
            guard members.updateValue(try parseValue(depth: depth), forKey: key) == nil else {
                throw error(.duplicateKey, at: keyOffset)
            }
            skipWhitespace()
            switch try next() {
            case UInt8(ascii: ","): skipWhitespace()
            case UInt8(ascii: "}"): return .object(members)
            default: throw error(.unexpectedByte, at: index - 1)
            }
        }
    }

    private mutating func parseArray(depth: Int) throws(StrictJSONError) -> JSONValue {
        guard depth <= Self.maximumDepth else { throw error(.tooDeep) }
        index += 1
        var elements: [JSONValue] = []
        skipWhitespace()
        if try peek() == UInt8(ascii: "]") {
            index += 1
            return .array(elements)
        }
        while true {
            elements.append(try parseValue(depth: depth))
            skipWhitespace()
            switch try next() {
            case UInt8(ascii: ","): skipWhitespace()
            case UInt8(ascii: "]"): return .array(elements)
            default: throw error(.unexpectedByte, at: index - 1)
            }
        }
    }

    private mutating func parseLiteral(_ literal: StaticString, _ value: JSONValue) throws(StrictJSONError) -> JSONValue
    {
        for offset in 0..<literal.utf8CodeUnitCount {
            guard try next() == literal.utf8Start[offset] else { throw error(.unexpectedByte, at: index - 1) }
        }
        return value
    }

    // MARK: Numbers

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    private mutating func parseNumber() throws(StrictJSONError) -> String {
        let start = index
        if bytes[index] == UInt8(ascii: "-") { index += 1 }
        if at(UInt8(ascii: "0")) {
            index += 1
        } else {
            try skipDigits()
        }
        if at(UInt8(ascii: ".")) {
            index += 1
            try skipDigits()
        }
        if at(UInt8(ascii: "e")) || at(UInt8(ascii: "E")) {
            index += 1
            if at(UInt8(ascii: "+")) || at(UInt8(ascii: "-")) { index += 1 }
            try skipDigits()
        }
        // A digit after a leading zero.
        if index < bytes.count, isDigit(bytes[index]) { throw error(.invalidNumber) }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func skipDigits() throws(StrictJSONError) {
        let start = index
        while index < bytes.count, isDigit(bytes[index]) { index += 1 }
        if index == start { throw error(.invalidNumber) }
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    // MARK: Strings

    /// - Parameter limit: see ``StreamSafeText``.
    private mutating func parseString(anyUpTo limit: Int) throws(StrictJSONError) -> String {
        index += 1
        let start = index
        var isASCII = true
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                let text = try text(bytes[start..<index], isASCII: isASCII, anyUpTo: limit, at: start)
                index += 1
                return text
            }
            if byte == UInt8(ascii: "\\") { return try parseEscapedString(from: start, anyUpTo: limit) }
            guard byte >= 0x20 else { throw error(.invalidString) }
            if byte >= 0x80 { isASCII = false }
            index += 1
        }
        throw error(.unexpectedEnd)
    }

    /// The rest of a string from its first escape on; what stands before it is copied.
    private mutating func parseEscapedString(
        from start: Int, anyUpTo limit: Int
    ) throws(StrictJSONError) -> String {
        var decoded = Array(bytes[start..<index])
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return try text(decoded, isASCII: false, anyUpTo: limit, at: start)
            case UInt8(ascii: "\\"): try parseEscape(into: &decoded)
            case 0..<0x20: throw error(.invalidString, at: index - 1)
            default: decoded.append(byte)
            }
        }
        throw error(.unexpectedEnd)
    }

    private mutating func parseEscape(into decoded: inout [UInt8]) throws(StrictJSONError) {
        switch try next() {
        case UInt8(ascii: "\""): decoded.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): decoded.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): decoded.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0c)
        case UInt8(ascii: "n"): decoded.append(0x0a)
        case UInt8(ascii: "r"): decoded.append(0x0d)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"): decoded.append(contentsOf: String(try parseUnicodeEscape()).utf8)
        default: throw error(.invalidString, at: index - 1)
        }
    }

    /// One scalar; a surrogate counts only as a pair. NUL is refused: C strings and PostgreSQL end there.
    private mutating func parseUnicodeEscape() throws(StrictJSONError) -> Character {
        let offset = index - 2
        var value = UInt32(try parseFourDigits())
        if (0xd800...0xdbff).contains(value) {
            guard try next() == UInt8(ascii: "\\"), try next() == UInt8(ascii: "u") else {
                throw error(.invalidString, at: offset)
            }
            let low = UInt32(try parseFourDigits())
            guard (0xdc00...0xdfff).contains(low) else { throw error(.invalidString, at: offset) }
            value = 0x10000 + (value - 0xd800) << 10 + (low - 0xdc00)
        }
        guard value != 0, let scalar = Unicode.Scalar(value) else { throw error(.invalidString, at: offset) }
        return Character(scalar)
    }

    private mutating func parseFourDigits() throws(StrictJSONError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = hexadecimalDigit(try next()) else { throw error(.invalidString, at: index - 1) }
            value = value << 4 | UInt16(digit)
        }
        return value
    }

    private func text(
        _ text: some Collection<UInt8>, isASCII: Bool, anyUpTo limit: Int, at offset: Int
    ) throws(StrictJSONError) -> String {
        if isASCII { return String(decoding: text, as: UTF8.self) }
        guard let string = String(validating: text, as: UTF8.self) else { throw error(.invalidUTF8, at: offset) }
        guard StreamSafeText.isGood(string, anyUpTo: limit) else { throw error(.notStreamSafe, at: offset) }
        return string
    }

    // MARK: Bytes

    private mutating func skipWhitespace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0a, 0x0d: index += 1
            default: return
            }
        }
    }

    private func at(_ byte: UInt8) -> Bool {
        index < bytes.count && bytes[index] == byte
    }

    private func peek() throws(StrictJSONError) -> UInt8 {
        guard index < bytes.count else { throw error(.unexpectedEnd) }
        return bytes[index]
    }

    private mutating func next() throws(StrictJSONError) -> UInt8 {
        let byte = try peek()
        index += 1
        return byte
    }

    private func error(_ code: StrictJSONError.Code, at offset: Int? = nil) -> StrictJSONError {
        StrictJSONError(code: code, offset: offset ?? index)
    }
}
