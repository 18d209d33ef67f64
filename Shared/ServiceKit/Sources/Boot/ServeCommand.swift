public import ArgumentParser
import Foundation
import Logging
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
        _ = Observability.metrics
        let logger = Observability.bootstrapLogging(service: Application.name, level: configuration.logLevel)
        defer { LogWriter.standardOutput.flush() }
        do {
            try await ServiceProcess(configuration, logger: logger).run(stoppingOn: [.sigterm, .sigint])
        } catch {
            logger.critical("stopped by an error", error: error)
            throw CommandError.exit(Application.name, error)
        }
    }
}

/// How commands end that cannot do what they were asked.
public enum CommandError {
    /// Of programs whose configuration is wrong (`EX_CONFIG` of sysexits.h).
    public static let wrongConfiguration = ExitCode(78)

    /// Tells the error on one line.
    static func exit(_ service: String, _ error: any Error) -> ExitCode {
        let line = String(describing: error).split(separator: "\n").joined(separator: "; ")
        FileHandle.standardError.write(Data("\(service): \(line)\n".utf8))
        return .failure
    }
}

extension ServiceConfiguration {
    /// As ``load(environment:)`` for commands: tells what is wrong, a line for each setting.
    ///
    /// - Throws: the exit code.
    public static func loadOrExit() throws(ExitCode) -> Self {
        do {
            return try load()
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            throw CommandError.wrongConfiguration
        }
    }
}
