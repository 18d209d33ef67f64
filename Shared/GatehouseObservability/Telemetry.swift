import CoreMetrics
public import Foundation
public import Logging

/// Logs and metrics of this process, set up once, regardless of the number of services in it.
public enum Telemetry {
    /// The process' metrics; the first use makes swift-metrics record into it.
    public static let metrics: PrometheusRegistry = {
        _ = ProcessMetrics.startTime
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        return registry
    }()

    /// When this process started, to within milliseconds.
    public static var startedAt: Date { Date(timeIntervalSince1970: ProcessMetrics.startTime) }

    /// Makes every logger of this process write JSON lines to standard output. Call it once in a process.
    ///
    /// - Returns: the service's own logger.
    public static func bootstrapLogging(service: String, level: Logger.Level) -> Logger {
        LoggingSystem.bootstrap { _ in
            JSONLogHandler(service: service, level: level, write: LogWriter.standardOutput.write)
        }
        return Logger(label: service)
    }
}
