/// Text that an attacker would choose for its cost, each with cheap text of the same length.
public enum CostlyText {
    /// One letter and combining marks after it, in all one `Character`, in the order that takes longest to sort. To
    /// compare, hash or normalize 60 KB of it takes from half a second to more than one.
    public static func marks(bytes: Int, after letter: String = "a") -> String {
        let count = (bytes - letter.utf8.count) / 2
        var text = letter
        // The higher combining class first.
        text.unicodeScalars.append(contentsOf: repeatElement("\u{301}", count: count / 2))
        text.unicodeScalars.append(contentsOf: repeatElement("\u{316}", count: count - count / 2))
        return text
    }

    /// The same length and number of scalars, with nothing to sort.
    public static func harmless(bytes: Int) -> String {
        "a" + String(repeating: "\u{E9}", count: (bytes - 1) / 2)
    }
}
