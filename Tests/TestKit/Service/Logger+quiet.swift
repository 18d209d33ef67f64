public import Logging

extension Logger {
    /// A logger that discards everything, for verbose code.
    public static var quiet: Logger { Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() } }
}
