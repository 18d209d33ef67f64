#if canImport(OSLog)
    import Foundation
    import OSLog

    /// Writes events to the system log, in the category `auth`. Events contain no secret, so all values are logged as
    /// public.
    public struct OSLogTelemetry: GatehouseTelemetry {
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
            case .loginFailure, .refreshFailure, .newBearerRefused: .error
            case .loginSuccess, .sessionEnded: .default
            // Frequent events stay in memory only.
            default: .info
            }
        }
    }
#endif
