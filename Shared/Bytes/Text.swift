/// Text that is compared, hashed and sorted by its bytes: for every name that decides anything.
///
/// To a Swift `String` texts are equal that Unicode calls canonically equivalent: `Kitchen` with a Kelvin sign equals
/// `Kitchen`, and `é` equals `e` with an accent behind it. Where a protocol compares names, these are others: issuers,
/// audiences and keys of tokens (RFC 7519 §7.3), roles, clients, credentials. And the comparison costs time that grows
/// with the square of a run of combining marks, which is the sender's to choose; that of bytes does not.
public struct VerbatimString: Sendable {
    public let text: String

    public init(_ text: String) { self.text = text }
}

extension VerbatimString: Hashable, Comparable {
    public static func == (one: VerbatimString, other: VerbatimString) -> Bool { one.text.isVerbatim(other.text) }

    public static func < (one: VerbatimString, other: VerbatimString) -> Bool {
        one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(UInt8(0xFF))
    }
}

extension VerbatimString: ExpressibleByStringLiteral, CustomStringConvertible {
    public init(stringLiteral text: String) { self.init(text) }

    public var description: String { text }
}

extension String {
    /// Whether the other text has the same bytes. See ``VerbatimString``.
    public func isVerbatim(_ other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}

extension Set<VerbatimString> {
    public init(verbatim texts: some Sequence<String>) { self.init(texts.lazy.map { VerbatimString($0) }) }

    public func contains(_ text: String) -> Bool { contains(VerbatimString(text)) }
}

/// Whether the time that it takes to compare, hash or normalize a text grows with its length alone.
///
/// All three sort each run of combining marks, in time that grows with the square of the run: `==` and hashing of
/// `String` normalize, too. One letter with 28,000 marks is 56 KB and costs most of a second. Text in Unicode's
/// Stream-Safe Text Format (UAX #15 §13) has no longer run than any language could need.
public enum StreamSafeText {
    /// Combining marks in a row.
    public static let longestRun = 30

    /// Whether a text is of that format.
    ///
    /// - Parameter limit: up to so many bytes of UTF-8 any text will do. At 2 KiB the worst costs half a millisecond.
    public static func isGood(_ text: String, anyUpTo limit: Int = 0) -> Bool {
        let length = text.utf8.count
        // A combining mark has at least two bytes.
        guard length > limit, length > 2 * longestRun else { return true }
        var run = 0
        for scalar in text.unicodeScalars {
            // There is none before U+0300.
            if scalar.value < 0x300 || scalar.properties.canonicalCombiningClass == .notReordered {
                run = 0
            } else {
                run += 1
                if run > longestRun { return false }
            }
        }
        return true
    }
}
