import Bytes
import Foundation
import Logging
import ServiceContextModule

/// Writes one JSON object per line: `time`, `level`, `service`, `message`, the request's `request_id`,
/// `trace_id` and `span_id` where a request is being served, then the metadata.
///
/// Values of metadata whose key speaks of a secret are never written, whoever logs them.
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
        if let scope = ServiceContext.current?.requestScope {
            line.member("request_id", scope.requestID)
            line.member("trace_id", scope.trace.traceID)
            line.member("span_id", scope.trace.spanID)
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
