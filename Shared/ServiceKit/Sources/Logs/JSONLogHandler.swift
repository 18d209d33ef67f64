import Foundation
import Logging
import ServiceContextModule

/// Writes one JSON object per line: `time`, `level`, `service`, `message`, the request's `request_id` and
/// `trace_id` where a request is being served, then the metadata.
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
        var line = JSONLine(capacity: 384)
        line.add("time", LogTime.now())
        line.add("level", event.level.rawValue)
        line.add("service", service)
        line.add("message", event.message.description)
        if let scope = ServiceContext.current?.requestScope {
            line.add("request_id", scope.requestID)
            line.add("trace_id", scope.trace.traceID)
        }
        for (key, value) in metadata where event.metadata?[key] == nil {
            add(key, value, to: &line)
        }
        for (key, value) in event.metadata ?? [:] {
            add(key, value, to: &line)
        }
        if let error = event.error, event.metadata?["error"] == nil {
            line.add("error", String(describing: error))
        }
        write(line.finish())
    }

    private func add(_ key: String, _ value: Logger.Metadata.Value, to line: inout JSONLine) {
        guard !Redaction.covers(key) else { return line.add(key, Redaction.mark) }
        switch value {
        case .string(let text): line.add(key, text)
        case .stringConvertible(let integer as Int): line.add(key, integer: Int64(integer))
        case .stringConvertible(let integer as Int64): line.add(key, integer: integer)
        case .stringConvertible(let other): line.add(key, other.description)
        case .array, .dictionary: line.add(key, value.description)
        }
    }
}

/// Which metadata is never written. Our own code has no such keys (``LogField``); this guards what libraries log.
enum Redaction {
    static let mark = "[redacted]"

    /// Byte by byte: it is asked for every key of every line, and Foundation's search costs more than the line.
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
