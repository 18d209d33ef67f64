extension JSONLexer {
    /// Passes a string and returns it with its escapes resolved.
    public mutating func string() throws(JSONError) -> String {
        try expect(UInt8(ascii: "\""))
        let start = position
        // Nearly every string has no escapes, and is taken whole.
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

    /// Goes on with a string that began at `start`, from its first backslash.
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
        // A high surrogate is worth something only together with the low one that must follow.
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
