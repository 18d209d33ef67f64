import Verbatim

/// Reads JSON (RFC 8259) from front to back, and nothing that is not JSON.
///
/// Stricter than Foundation where looseness has been used against tokens: a name may stand once in an object,
/// however it is escaped; strings must be valid Unicode; integers have no fraction, exponent or sign.
/// It builds no tree: the caller asks for what it expects, and anything else is an error.
struct JSONScanner {
    private static let maximumDepth = 8
    private static let maximumMembers = 64

    let bytes: [UInt8]
    var position = 0
    private var depth = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Nothing but white space may follow.
    mutating func end() throws(AccessTokenError) {
        skipWhiteSpace()
        guard position == bytes.count else { throw .malformed("Text follows the end of the JSON.") }
    }

    /// Reads an object. `body` is called with each member's name and must read its value.
    mutating func object(
        _ body: (VerbatimString, inout JSONScanner) throws(AccessTokenError) -> Void
    ) throws(AccessTokenError) {
        try open(UInt8(ascii: "{"))
        var names: [VerbatimString] = []
        if !take(UInt8(ascii: "}")) {
            repeat {
                skipWhiteSpace()
                let name = try name()
                guard !names.contains(name) else { throw .malformed("A name stands twice in one object.") }
                guard names.count < Self.maximumMembers else { throw .malformed("An object has too many members.") }
                names.append(name)
                try expect(UInt8(ascii: ":"))
                try body(name, &self)
            } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "}"))
        }
        depth -= 1
    }

    /// Reads an array. `body` is called at each element and must read it.
    mutating func array(_ body: (inout JSONScanner) throws(AccessTokenError) -> Void) throws(AccessTokenError) {
        try open(UInt8(ascii: "["))
        if !take(UInt8(ascii: "]")) {
            repeat { try body(&self) } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "]"))
        }
        depth -= 1
    }

    /// Reads an integer that is written as one: digits only, no leading zero.
    mutating func integer(in range: ClosedRange<Int64>) throws(AccessTokenError) -> Int64 {
        skipWhiteSpace()
        let start = position
        var value: Int64 = 0
        while let digit = peek(), isDigit(digit) {
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowedToo) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            guard !overflowed, !overflowedToo else { throw .malformed("A number is out of range.") }
            value = sum
            position += 1
        }
        let hasLeadingZero = position - start > 1 && bytes[start] == UInt8(ascii: "0")
        guard position > start, !hasLeadingZero, range.contains(value) else {
            throw .malformed("A number is not an integer in its range.")
        }
        // A fraction or exponent is refused by whoever reads on: neither `.` nor `e` can follow a value.
        return value
    }

    /// Reads `true` or `false`.
    mutating func boolean() throws(AccessTokenError) -> Bool {
        skipWhiteSpace()
        let isTrue = peek() == UInt8(ascii: "t")
        try literal(isTrue ? "true" : "false")
        return isTrue
    }

    /// Passes over a value of any kind, checking its form.
    mutating func skipValue() throws(AccessTokenError) {
        skipWhiteSpace()
        switch peek() {
        case UInt8(ascii: "{"): try object { (_, scanner) throws(AccessTokenError) in try scanner.skipValue() }
        case UInt8(ascii: "["): try array { (scanner) throws(AccessTokenError) in try scanner.skipValue() }
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        default: try skipNumber()
        }
    }

    /// The first byte of the value that follows, by which its kind is known.
    mutating func peekValue() -> UInt8? {
        skipWhiteSpace()
        return peek()
    }

    // MARK: - Parts

    func peek() -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    /// The byte at the position, which is then passed.
    mutating func next() throws(AccessTokenError) -> UInt8 {
        guard position < bytes.count else { throw .malformed("The JSON ends too early.") }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func skipWhiteSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func open(_ bracket: UInt8) throws(AccessTokenError) {
        try expect(bracket)
        depth += 1
        guard depth <= Self.maximumDepth else { throw .malformed("The JSON is nested too deeply.") }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipWhiteSpace()
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(AccessTokenError) {
        guard take(byte) else { throw .malformed("The text is not JSON of the expected shape.") }
    }

    private mutating func literal(_ word: StaticString) throws(AccessTokenError) {
        for index in 0..<word.utf8CodeUnitCount {
            guard try next() == word.utf8Start[index] else { throw .malformed("The text is not JSON.") }
        }
    }

    private mutating func skipNumber() throws(AccessTokenError) {
        if peek() == UInt8(ascii: "-") { position += 1 }
        if peek() == UInt8(ascii: "0") { position += 1 } else { try skipDigits() }
        if peek() == UInt8(ascii: ".") {
            position += 1
            try skipDigits()
        }
        if let byte = peek(), byte | 0x20 == UInt8(ascii: "e") {
            position += 1
            if let sign = peek(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position += 1 }
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(AccessTokenError) {
        guard let first = peek(), isDigit(first) else { throw .malformed("The text is not JSON.") }
        while let digit = peek(), isDigit(digit) { position += 1 }
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
