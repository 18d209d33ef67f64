import Foundation
import GatehouseBytes
public import Logging
import Tracing

/// Writes one JSON object per line: `time`, `level`, `service`, `message`, the request's `request_id`,
/// `trace_id` and `span_id` where a request is being served, then the metadata.
///
/// Metadata whose key names a secret is never written, even if a library logs it.
struct JSONLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel: Logger.Level
    private let service: String
    private let write: @Sendable ([UInt8]) -> Void

    init(service: String, level: Logger.Level, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.service = service
        self.logLevel = level
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = JSONWriter(capacity: 384)
        line.object { members(of: event, to: &$0) }
        write(line.asLine())
    }

    private func members(of event: LogEvent, to line: inout JSONWriter) {
        line.member("time", Self.now)
        line.member("level", event.level.rawValue)
        line.member("service", service)
        line.member("message", event.message.description)
        if let context = ServiceContext.current {
            if let requestID = context.requestID { line.member("request_id", requestID) }
            if let trace = context.traceContext {
                line.member("trace_id", trace.traceID)
                line.member("span_id", trace.spanID)
            }
        }
        for (key, value) in metadata where event.metadata?[key] == nil {
            add(key, value, to: &line)
        }
        for (key, value) in event.metadata ?? [:] {
            add(key, value, to: &line)
        }
        if let error = event.error, event.metadata?["error"] == nil {
            line.member("error", String(describing: error))
        }
    }

    private static var now: String {
        let now = Date.now.timeIntervalSince1970
        let seconds = now.rounded(.down)
        return UTCTime(secondsSince1970: Int64(seconds)).rfc3339(microseconds: Int64((now - seconds) * 1e6))
    }

    private func add(_ key: String, _ value: Logger.Metadata.Value, to line: inout JSONWriter) {
        guard !Redaction.covers(key) else { return line.member(key, Redaction.mark) }
        switch value {
        case .string(let text): line.member(key, text)
        case .stringConvertible(let integer as Int): line.member(key, Int64(integer))
        case .stringConvertible(let integer as Int64): line.member(key, integer)
        case .stringConvertible(let other): line.member(key, other.description)
        case .array, .dictionary: line.member(key, value.description)
        }
    }
}

/// A piece of metadata of a log line, with a key that several services use. No key is for a token, a password or
/// another secret.
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
    /// A path template, never a path, because a path contains identifiers.
    public static func route(_ route: String) -> LogField { LogField("route", .string(route)) }
    public static func duration(_ duration: Duration) -> LogField { LogField("duration_us", microseconds: duration) }
    /// How long the process had stalled.
    public static func stall(_ duration: Duration) -> LogField { LogField("stall_us", microseconds: duration) }
    /// How long a request had waited.
    public static func waited(_ duration: Duration) -> LogField { LogField("waited_us", microseconds: duration) }

    private init(_ key: String, microseconds duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.init(key, .stringConvertible(seconds * 1_000_000 + attoseconds / 1_000_000_000_000))
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

/// Metadata keys whose values are never written. Gatehouse's own code has no such keys (``LogField``), but libraries
/// may log them.
enum Redaction {
    static let mark = "[redacted]"

    /// Compares bytes, because it runs for every key of every line, and Foundation's search would cost more than
    /// writing the line.
    static func covers(_ key: String) -> Bool {
        let key = key.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        return words.contains { word in
            key.indices.contains { key[$0...].starts(with: word) }
        }
    }

    private static let words = [
        "authorization", "cookie", "credential", "password", "secret", "token", "private_key", "nonce",
    ].map { Array($0.utf8) }
}
