public import ArgumentParser
import Logging
import Observability
import Settings
import UnixSignals

/// `<service> serve`: runs the service until SIGTERM or SIGINT.
public struct ServeCommand<Application: ServiceApplication>: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "serve", abstract: "Run \(Application.name) until it is told to stop.",
            discussion: """
                Settings come from the environment and from the file that \
                \(SettingName(service: Application.name, key: "configFile").variable) names. \
                SIGTERM or SIGINT: readiness turns false, requests in flight end, the service stops.
                """)
    }

    public init() {}

    public func run() async throws {
        let configuration = try ServiceConfiguration<Application>.loadOrExit()
        _ = Telemetry.metrics
        let logger = Telemetry.bootstrapLogging(service: Application.name, level: configuration.logLevel)
        defer { LogWriter.standardOutput.flush() }
        do {
            try await ServiceProcess(configuration, logger: logger).run(stoppingOn: [.sigterm, .sigint])
        } catch {
            logger.critical("stopped by an error", error: error)
            throw CommandError.failure(Application.name, error)
        }
    }
}
