#if canImport(OSLog)
    import Foundation
    import OSLog

    /// Writes what happens into the system's log, in the category `auth`. It is told no secret, so that all of it can be
    /// read there.
    public struct OSLogTelemetry: Telemetry {
        private let logger: Logger

        /// - Parameter subsystem: by default the app's bundle identifier.
        public init(subsystem: String? = nil) {
            logger = Logger(subsystem: subsystem ?? Bundle.main.bundleIdentifier ?? "gatehouse", category: "auth")
        }

        public func record(_ event: TelemetryEvent) {
            let name = event.name.description
            let reason = event.reason ?? "-"
            let milliseconds = event.latency.map { "\($0 / .milliseconds(1))" } ?? "-"
            logger.log(
                level: level(of: event.name),
                "\(name, privacy: .public) reason=\(reason, privacy: .public) ms=\(milliseconds, privacy: .public)")
        }

        private func level(of name: TelemetryEvent.Name) -> OSLogType {
            switch name {
            case .loginFailure, .refreshFailure: .error
            case .loginSuccess, .sessionEnded: .default
            // What happens all the time is kept in memory alone.
            default: .info
            }
        }
    }
#endif
