/// Text that somebody makes up so that it costs much, each beside text of the same length that costs little.
public enum CostlyText {
    /// One letter and combining marks after it, one `Character` in all, in the order that takes longest to sort: to
    /// compare, hash or normalize 60 KB of it takes from half a second to more than one.
    public static func marks(bytes: Int, after letter: String = "a") -> String {
        let count = (bytes - letter.utf8.count) / 2
        var text = letter
        // Of a higher combining class first.
        text.unicodeScalars.append(contentsOf: repeatElement("\u{301}", count: count / 2))
        text.unicodeScalars.append(contentsOf: repeatElement("\u{316}", count: count - count / 2))
        return text
    }

    /// As long, as many scalars, and nothing to sort.
    public static func harmless(bytes: Int) -> String {
        "a" + String(repeating: "\u{E9}", count: (bytes - 1) / 2)
    }
}
