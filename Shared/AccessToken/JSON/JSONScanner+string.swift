import Verbatim

extension JSONScanner {
    /// Reads a string that is compared with others.
    mutating func name() throws(AccessTokenError) -> VerbatimString { VerbatimString(try string()) }

    /// Reads a string with its escapes resolved.
    mutating func string() throws(AccessTokenError) -> String {
        skipWhiteSpace()
        guard try next() == UInt8(ascii: "\"") else { throw .malformed("A string was expected.") }
        let start = position
        // Nearly every string has no escapes, and is taken whole.
        while let byte = peek(), byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            position += 1
        }
        switch try next() {
        case UInt8(ascii: "\""): return try text(bytes[start..<position - 1])
        case UInt8(ascii: "\\"): return try stringWithEscapes(from: start)
        default: throw .malformed("A string has control characters.")
        }
    }

    /// Goes on with a string that began at `start`, from behind its first backslash.
    private mutating func stringWithEscapes(from start: Int) throws(AccessTokenError) -> String {
        var characters = Array(bytes[start..<position - 1])
        try appendEscaped(to: &characters)
        while true {
            switch try next() {
            case UInt8(ascii: "\""): return try text(characters[...])
            case UInt8(ascii: "\\"): try appendEscaped(to: &characters)
            case 0..<0x20: throw .malformed("A string has control characters.")
            case let byte: characters.append(byte)
            }
        }
    }

    private mutating func appendEscaped(to characters: inout [UInt8]) throws(AccessTokenError) {
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
        default: throw .malformed("A string has an unknown escape.")
        }
    }

    private mutating func escapedScalar() throws(AccessTokenError) -> Unicode.Scalar {
        let unit = try fourHexDigits()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        // A high surrogate is worth something only together with the low one that must follow.
        guard (0xD800...0xDBFF).contains(unit), try next() == UInt8(ascii: "\\"), try next() == UInt8(ascii: "u") else {
            throw .malformed("A string has half of a surrogate pair.")
        }
        let low = try fourHexDigits()
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { throw .malformed("A string has half of a surrogate pair.") }
        return scalar
    }

    private mutating func fourHexDigits() throws(AccessTokenError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            let digit =
                switch try next() {
                case let byte where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte): byte - UInt8(ascii: "0")
                case let byte where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte):
                    byte - UInt8(ascii: "a") + 10
                case let byte where (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte):
                    byte - UInt8(ascii: "A") + 10
                default: throw AccessTokenError.malformed("A string has an unknown escape.")
                }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    private func text(_ characters: ArraySlice<UInt8>) throws(AccessTokenError) -> String {
        // `String(validating:)` works through generics at run time, which costs more than all the rest of the scanner.
        if characters.allSatisfy({ $0 < 0x80 }) { return String(decoding: characters, as: UTF8.self) }
        guard let text = String(validating: characters, as: UTF8.self) else {
            throw .malformed("A string is not valid UTF-8.")
        }
        return text
    }
}
