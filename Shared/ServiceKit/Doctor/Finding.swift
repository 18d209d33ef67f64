/// One thing that `<service> doctor` has looked at, in the words that it prints.
public struct Finding: Sendable, Equatable {
    /// How bad it is.
    public enum Severity: String, Sendable, CaseIterable {
        /// As it should be.
        case fine
        /// It works; somebody should look at it before it does not.
        case warning
        /// Something does not work, or is not safe.
        case problem
    }

    public let severity: Severity
    /// What was found: one sentence or two, with the figure.
    public let text: String
    /// What to do about it; `nil` where nothing is to be done.
    public let remedy: String?

    private init(_ severity: Severity, _ text: String, _ remedy: String?) {
        self.severity = severity
        self.text = text
        self.remedy = remedy
    }

    public static func fine(_ text: String) -> Finding { Finding(.fine, text, nil) }

    public static func warning(_ text: String, remedy: String) -> Finding { Finding(.warning, text, remedy) }

    public static func problem(_ text: String, remedy: String) -> Finding { Finding(.problem, text, remedy) }

    /// As it is printed: the remedy on a line of its own.
    public var lines: String {
        let margin = 9
        let label = severity.rawValue + String(repeating: " ", count: margin - severity.rawValue.count)
        guard let remedy else { return "  \(label)\(text)" }
        return "  \(label)\(text)\n  \(String(repeating: " ", count: margin))→ \(remedy)"
    }
}
