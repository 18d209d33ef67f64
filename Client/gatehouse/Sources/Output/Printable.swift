/// Text from a server on its way to a terminal.
enum Printable {
    /// `text` without what a terminal would obey instead of show: control characters, and marks that turn the direction
    /// of the rest of the line. A device calls itself what it likes.
    static func clean(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            result.append(isHarmless(scalar) ? scalar : "\u{FFFD}")
        }
        return String(result)
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        // The joiners are part of words in some scripts.
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }
}
