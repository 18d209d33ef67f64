/// Reads the tokens of a JSON text (RFC 8259) from front to back: brackets, strings, numbers and words. The caller
/// checks the grammar.
///
/// It is stricter than Foundation where attacks have used leniency: it accepts no byte-order mark, no other encoding
/// than UTF-8, no half of a surrogate pair, and no number with a leading zero.
public struct JSONLexer: Sendable {
    let bytes: [UInt8]
    /// The offset of the byte that is read next.
    public internal(set) var position = 0

    /// - Parameter bytes: the whole text.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The first byte of the next token, which determines its kind; `nil` at the end.
    public mutating func peek() -> UInt8? {
        skipWhiteSpace()
        return position < bytes.count ? bytes[position] : nil
    }

    /// Consumes `byte` if it is next.
    public mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    /// Consumes `byte`, which must be next.
    public mutating func expect(_ byte: UInt8) throws(JSONError) {
        guard take(byte) else { throw unexpected() }
    }

    /// Consumes a word: `true`, `false` or `null`.
    public mutating func expect(word: StaticString) throws(JSONError) {
        skipWhiteSpace()
        for index in 0..<word.utf8CodeUnitCount {
            guard try next() == word.utf8Start[index] else { throw error(.unexpectedByte, at: position - 1) }
        }
    }

    /// Consumes a number and returns its text.
    public mutating func number() throws(JSONError) -> ArraySlice<UInt8> {
        skipWhiteSpace()
        let start = position
        _ = skip(UInt8(ascii: "-"))
        let startsWithZero = skip(UInt8(ascii: "0"))
        if !startsWithZero { try skipDigits() }
        if skip(UInt8(ascii: ".")) { try skipDigits() }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
            try skipDigits()
        }
        // A digit after a leading zero.
        if position < bytes.count, isDigit(bytes[position]) { throw error(.invalidNumber) }
        return bytes[start..<position]
    }

    /// Only white space may follow.
    public mutating func end() throws(JSONError) {
        guard peek() == nil else { throw error(.trailingBytes) }
    }

    /// The error for a next byte that is not allowed here.
    public func unexpected() -> JSONError {
        error(position < bytes.count ? .unexpectedByte : .unexpectedEnd)
    }

    // MARK: - Bytes

    mutating func next() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        defer { position += 1 }
        return bytes[position]
    }

    func error(_ code: JSONError.Code, at offset: Int? = nil) -> JSONError {
        JSONError(code, at: offset ?? position)
    }

    private mutating func skipWhiteSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipDigits() throws(JSONError) {
        let start = position
        while position < bytes.count, isDigit(bytes[position]) { position += 1 }
        if position == start { throw error(.invalidNumber) }
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

extension JSONLexer {
    /// Consumes a string and returns it with its escapes resolved.
    public mutating func string() throws(JSONError) -> String {
        try expect(UInt8(ascii: "\""))
        let start = position
        // Nearly all strings have no escapes and are copied whole.
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                let text = try text(bytes[start..<position], from: start)
                position += 1
                return text
            case UInt8(ascii: "\\"): return try stringWithEscapes(from: start)
            case 0..<0x20: throw error(.invalidString)
            default: position += 1
            }
        }
        throw error(.unexpectedEnd)
    }

    /// Continues with a string that began at `start`, from its first backslash.
    private mutating func stringWithEscapes(from start: Int) throws(JSONError) -> String {
        var characters = Array(bytes[start..<position])
        while true {
            switch try next() {
            case UInt8(ascii: "\""): return try text(characters[...], from: start)
            case UInt8(ascii: "\\"): try appendEscaped(to: &characters)
            case 0..<0x20: throw error(.invalidString, at: position - 1)
            case let byte: characters.append(byte)
            }
        }
    }

    private mutating func appendEscaped(to characters: inout [UInt8]) throws(JSONError) {
        switch try next() {
        case UInt8(ascii: "\""): characters.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): characters.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): characters.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): characters.append(0x08)
        case UInt8(ascii: "f"): characters.append(0x0C)
        case UInt8(ascii: "n"): characters.append(0x0A)
        case UInt8(ascii: "r"): characters.append(0x0D)
        case UInt8(ascii: "t"): characters.append(0x09)
        case UInt8(ascii: "u"): characters.append(contentsOf: String(Character(try escapedScalar())).utf8)
        default: throw error(.invalidString, at: position - 1)
        }
    }

    private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
        let offset = position - 2
        let unit = try fourDigits()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        // A high surrogate is valid only with the low surrogate that must follow.
        guard (0xD800...0xDBFF).contains(unit), try next() == UInt8(ascii: "\\"), try next() == UInt8(ascii: "u") else {
            throw error(.invalidString, at: offset)
        }
        let low = try fourDigits()
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { throw error(.invalidString, at: offset) }
        return scalar
    }

    private mutating func fourDigits() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Hexadecimal.value(try next()) else { throw error(.invalidString, at: position - 1) }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    private func text(_ characters: ArraySlice<UInt8>, from start: Int) throws(JSONError) -> String {
        // `String(validating:)` works through generics at run time, which costs more than all the rest of the lexer.
        if characters.allSatisfy({ $0 < 0x80 }) { return String(decoding: characters, as: UTF8.self) }
        guard let text = String(validating: characters, as: UTF8.self) else { throw error(.invalidUTF8, at: start) }
        return text
    }
}

/// Why a text is not accepted as JSON. The error contains nothing of the text.
public struct JSONError: Error, Equatable, CustomStringConvertible {
    /// The kind of fault.
    public enum Code: Sendable, Equatable {
        /// A byte that is not allowed at its position.
        case unexpectedByte
        /// The text ends too early.
        case unexpectedEnd
        /// Something follows the end of the JSON.
        case trailingBytes
        /// Objects and arrays are nested too deeply.
        case tooDeep
        /// A name that occurs twice in one object.
        case duplicateName
        /// A malformed number, or one outside the requested kind or range.
        case invalidNumber
        /// A control character, an unknown escape, half of a surrogate pair.
        case invalidString
        /// Bytes that are not UTF-8.
        case invalidUTF8
        /// More combining marks in a row than any language needs (``StreamSafeText``).
        case notStreamSafe
    }

    public let code: Code
    /// The offset of the byte at which the fault was detected.
    public let offset: Int

    public init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }

    public var description: String { "\(code) at byte \(offset)" }
}
