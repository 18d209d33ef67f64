public import Logging

/// A piece of metadata of a log line. The keys that every service has are these: none for a token, a password or any
/// other secret.
public struct LogField: Sendable {
    let key: String
    let value: Logger.MetadataValue

    init(_ key: String, _ value: Logger.MetadataValue) {
        self.key = key
        self.value = value
    }

    public static func error(_ error: any Error) -> LogField { LogField("error", .string(String(describing: error))) }
    public static func reason(_ reason: String) -> LogField { LogField("reason", .string(reason)) }
    public static func caller(_ name: String) -> LogField { LogField("caller", .string(name)) }
    public static func address(_ address: String) -> LogField { LogField("address", .string(address)) }
    public static func count(_ count: Int) -> LogField { LogField("count", .stringConvertible(count)) }
    public static func status(_ status: Int) -> LogField { LogField("status", .stringConvertible(status)) }
    public static func method(_ method: String) -> LogField { LogField("method", .string(method)) }
    /// A path template, never a path: identifiers are not for logs.
    public static func route(_ route: String) -> LogField { LogField("route", .string(route)) }
    public static func duration(_ duration: Duration) -> LogField {
        let (seconds, attoseconds) = duration.components
        return LogField("duration_us", .stringConvertible(seconds * 1_000_000 + attoseconds / 1_000_000_000_000))
    }
}

extension Logger {
    /// Logs with typed metadata.
    public func debug(_ message: @autoclosure () -> Logger.Message, _ first: LogField, _ rest: LogField...) {
        log(.debug, message(), [first] + rest)
    }

    /// Logs with typed metadata.
    public func info(_ message: @autoclosure () -> Logger.Message, _ first: LogField, _ rest: LogField...) {
        log(.info, message(), [first] + rest)
    }

    /// Logs with typed metadata.
    public func warning(_ message: @autoclosure () -> Logger.Message, _ first: LogField, _ rest: LogField...) {
        log(.warning, message(), [first] + rest)
    }

    /// Logs with typed metadata.
    public func error(_ message: @autoclosure () -> Logger.Message, _ first: LogField, _ rest: LogField...) {
        log(.error, message(), [first] + rest)
    }

    private func log(_ level: Logger.Level, _ message: @autoclosure () -> Logger.Message, _ fields: [LogField]) {
        guard logLevel <= level else { return }
        var metadata = Logger.Metadata(minimumCapacity: fields.count)
        for field in fields { metadata[field.key] = field.value }
        log(level: level, message(), metadata: metadata)
    }
}
