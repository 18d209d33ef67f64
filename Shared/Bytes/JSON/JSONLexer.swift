/// The tokens of a JSON text (RFC 8259), read from front to back: the brackets, strings, numbers and words of which an
/// object or array is made. What may follow what is for the caller to say.
///
/// Stricter than Foundation where looseness has been used in attacks: no byte-order mark, no other encoding than UTF-8,
/// no half of a surrogate pair, no number with a leading zero.
public struct JSONLexer: Sendable {
    let bytes: [UInt8]
    /// The offset of the byte that is read next.
    public internal(set) var position = 0

    /// - Parameter bytes: the whole text.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The first byte of the token that follows, by which its kind is known; `nil` at the end.
    public mutating func peek() -> UInt8? {
        skipWhiteSpace()
        return position < bytes.count ? bytes[position] : nil
    }

    /// Passes `byte` if it is what follows.
    public mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    /// Passes `byte`, which has to follow.
    public mutating func expect(_ byte: UInt8) throws(JSONError) {
        guard take(byte) else { throw unexpected() }
    }

    /// Passes a word: `true`, `false` or `null`.
    public mutating func expect(word: StaticString) throws(JSONError) {
        skipWhiteSpace()
        for index in 0..<word.utf8CodeUnitCount {
            guard try next() == word.utf8Start[index] else { throw error(.unexpectedByte, at: position - 1) }
        }
    }

    /// Passes a number and returns it as it is written.
    public mutating func number() throws(JSONError) -> ArraySlice<UInt8> {
        skipWhiteSpace()
        let start = position
        _ = passes(UInt8(ascii: "-"))
        let startsWithZero = passes(UInt8(ascii: "0"))
        if !startsWithZero { try skipDigits() }
        if passes(UInt8(ascii: ".")) { try skipDigits() }
        if passes(UInt8(ascii: "e")) || passes(UInt8(ascii: "E")) {
            if !passes(UInt8(ascii: "+")) { _ = passes(UInt8(ascii: "-")) }
            try skipDigits()
        }
        // A digit after a leading zero.
        if position < bytes.count, isDigit(bytes[position]) { throw error(.invalidNumber) }
        return bytes[start..<position]
    }

    /// Nothing but white space may follow.
    public mutating func end() throws(JSONError) {
        guard peek() == nil else { throw error(.trailingBytes) }
    }

    /// What to throw where the byte that follows is not one that may stand here.
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

    private mutating func passes(_ byte: UInt8) -> Bool {
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
