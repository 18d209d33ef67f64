import CoreMetrics
public import Logging

/// Logs and metrics of this process, set up once however many services run in it.
public enum Telemetry {
    /// The process' metrics; the first use makes swift-metrics record into it.
    public static let metrics: PrometheusRegistry = {
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        return registry
    }()

    /// Makes every logger of this process write JSON lines to standard output. Once for a process.
    ///
    /// - Returns: the service's own logger.
    public static func bootstrapLogging(service: String, level: Logger.Level) -> Logger {
        LoggingSystem.bootstrap { _ in
            JSONLogHandler(service: service, level: level, write: LogWriter.standardOutput.write)
        }
        return Logger(label: service)
    }
}
