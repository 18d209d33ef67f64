public import Logging
import Synchronization

/// Captures log events for a test: level, message and metadata of each as one line.
public final class CapturedLog: Sendable {
    private let events = Mutex<[String]>([])

    public init() {}

    public var lines: [String] { events.withLock { $0 } }

    /// A logger that writes here.
    public var logger: Logger {
        Logger(label: "test") { _ in Handler(log: self) }
    }

    private struct Handler: LogHandler {
        let log: CapturedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        init(log: CapturedLog) {
            self.log = log
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = "\(event.level) \(event.message) \(event.metadata ?? [:])"
            log.events.withLock { $0.append(line) }
        }
    }
}
