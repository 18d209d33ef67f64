/// Text that is compared, hashed and sorted by its bytes. Use it for every name that affects a decision.
///
/// Swift's `String` treats texts as equal that are canonically equivalent in Unicode: `Kitchen` with a Kelvin sign
/// equals `Kitchen`, and `é` equals `e` followed by an accent. Protocols distinguish such names: issuers, audiences and
/// keys of tokens (RFC 7519 §7.3), roles, clients, credentials. The time to compare strings also grows with the square
/// of a run of combining marks, whose length the sender chooses. Comparing bytes does not have this cost.
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

/// Limits runs of combining marks, so that the time to compare, hash or normalize a text grows linearly with its
/// length.
///
/// All three sort each run of combining marks, in a time that grows with the square of the run. `==` and hashing of
/// `String` normalize, too. One letter with 28,000 marks is 56 KB and costs most of a second. Text in Unicode's
/// Stream-Safe Text Format (UAX #15 §13) has no run longer than any language needs.
public enum StreamSafeText {
    /// Combining marks in a row.
    public static let longestRun = 30

    /// Whether a text is in that format.
    ///
    /// - Parameter limit: any text of up to this many bytes of UTF-8 is accepted. At 2 KiB the worst case costs half a
    ///   millisecond.
    public static func accepts(_ text: String, anyUpTo limit: Int = 0) -> Bool {
        let length = text.utf8.count
        // A combining mark has at least two bytes.
        guard length > limit, length > 2 * longestRun else { return true }
        var run = 0
        for scalar in text.unicodeScalars {
            // No combining mark is below U+0300.
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
