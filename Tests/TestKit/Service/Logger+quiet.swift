public import Logging

extension Logger {
    /// For what would drown the test's own output.
    public static var quiet: Logger { Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() } }
}
