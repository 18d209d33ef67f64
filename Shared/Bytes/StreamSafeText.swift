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
