import GatehouseBytes

/// Reads JSON from front to back without a tree. The caller requests the expected values, and all others are errors.
///
/// A name may occur only once in an object, regardless of escapes; numbers have neither exponent nor sign. Depth and
/// members are bounded, because an attacker may have written the token.
struct JSONScanner {
    /// What becomes of a fraction.
    enum Rounding {
        case down
        case up
    }

    private static let maximumDepth = 8
    /// In a value that is skipped whatever it is.
    private static let maximumSkippedDepth = 64
    private static let maximumMembers = 64

    private var lexer: JSONLexer
    private var depth = 0
    /// Whether any JSON is skipped: a name may then occur twice, and an object have many members.
    private var skipsAnything = false

    init(_ bytes: [UInt8]) {
        lexer = JSONLexer(bytes)
    }

    /// Only white space may follow.
    mutating func end() throws(AccessTokenError) {
        try read { (lexer) throws(JSONError) in try lexer.end() }
    }

    /// Reads an object. `body` is called with each member's name and must read its value.
    mutating func object(
        _ body: (VerbatimString, inout JSONScanner) throws(AccessTokenError) -> Void
    ) throws(AccessTokenError) {
        try open(UInt8(ascii: "{"))
        var names: [VerbatimString] = []
        if !lexer.take(UInt8(ascii: "}")) {
            repeat {
                let name = try name()
                if !skipsAnything {
                    guard !names.contains(name) else { throw .malformed("A name occurs twice in one object.") }
                    guard names.count < Self.maximumMembers else { throw .malformed("An object has too many members.") }
                    names.append(name)
                }
                try expect(UInt8(ascii: ":"))
                try body(name, &self)
            } while lexer.take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "}"))
        }
        depth -= 1
    }

    /// Reads an array. `body` is called at each element and must read it.
    mutating func array(_ body: (inout JSONScanner) throws(AccessTokenError) -> Void) throws(AccessTokenError) {
        try open(UInt8(ascii: "["))
        if !lexer.take(UInt8(ascii: "]")) {
            repeat { try body(&self) } while lexer.take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "]"))
        }
        depth -= 1
    }

    /// Reads a string that is compared with others.
    mutating func name() throws(AccessTokenError) -> VerbatimString { VerbatimString(try string()) }

    /// Reads a string with its escapes resolved.
    mutating func string() throws(AccessTokenError) -> String {
        try read { (lexer) throws(JSONError) in try lexer.string() }
    }

    /// Reads an integer that consists of digits only.
    mutating func integer(in range: ClosedRange<Int64>) throws(AccessTokenError) -> Int64 {
        try Self.integer(try number(), in: range)
    }

    /// Reads a number without sign and exponent, whose fraction is rounded.
    mutating func seconds(_ rounding: Rounding, in range: ClosedRange<Int64>) throws(AccessTokenError) -> Int64 {
        let parts = try number().split(separator: UInt8(ascii: "."), maxSplits: 1)
        let whole = try Self.integer(parts[0], in: range)
        guard parts.count == 2 else { return whole }
        guard parts[1].allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .malformed("A number is not a decimal fraction in its range.")
        }
        guard rounding == .up, parts[1].contains(where: { $0 != 0x30 }) else { return whole }
        guard whole < range.upperBound else { throw .malformed("A number is not in its range.") }
        return whole + 1
    }

    private mutating func number() throws(AccessTokenError) -> ArraySlice<UInt8> {
        try read { (lexer) throws(JSONError) in try lexer.number() }
    }

    private static func integer(
        _ digits: ArraySlice<UInt8>, in range: ClosedRange<Int64>
    ) throws(AccessTokenError) -> Int64 {
        var value: Int64 = 0
        for digit in digits {
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowedToo) = product.addingReportingOverflow(Int64(digit) - 0x30)
            guard (0x30...0x39).contains(digit), !overflowed, !overflowedToo else {
                throw .malformed("A number is not an integer in its range.")
            }
            value = sum
        }
        guard range.contains(value) else { throw .malformed("A number is not an integer in its range.") }
        return value
    }

    /// Reads `true` or `false`.
    mutating func boolean() throws(AccessTokenError) -> Bool {
        let isTrue = lexer.peek() == UInt8(ascii: "t")
        try word(isTrue ? "true" : "false")
        return isTrue
    }

    /// Skips a value of any kind, and checks its syntax.
    mutating func skipValue() throws(AccessTokenError) {
        switch lexer.peek() {
        case UInt8(ascii: "{"): try object { (_, scanner) throws(AccessTokenError) in try scanner.skipValue() }
        case UInt8(ascii: "["): try array { (scanner) throws(AccessTokenError) in try scanner.skipValue() }
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: _ = try number()
        }
    }

    /// Skips a value that is JSON, also if its objects have a name twice or many members, or are nested more deeply
    /// than a value that is read.
    mutating func skipAnyValue() throws(AccessTokenError) {
        skipsAnything = true
        defer { skipsAnything = false }
        try skipValue()
    }

    /// The first byte of the next value, which determines its kind.
    mutating func peekValue() -> UInt8? { lexer.peek() }

    // MARK: - Tokens

    private mutating func open(_ bracket: UInt8) throws(AccessTokenError) {
        try expect(bracket)
        depth += 1
        let maximum = skipsAnything ? Self.maximumSkippedDepth : Self.maximumDepth
        guard depth <= maximum else { throw .malformed("The JSON is nested too deeply.") }
    }

    private mutating func expect(_ byte: UInt8) throws(AccessTokenError) {
        try read { (lexer) throws(JSONError) in try lexer.expect(byte) }
    }

    private mutating func word(_ word: StaticString) throws(AccessTokenError) {
        try read { (lexer) throws(JSONError) in try lexer.expect(word: word) }
    }

    private mutating func read<Token>(
        _ token: (inout JSONLexer) throws(JSONError) -> Token
    ) throws(AccessTokenError) -> Token {
        do {
            return try token(&lexer)
        } catch {
            throw .malformed("The text is not JSON of the expected shape: \(error).")
        }
    }
}
