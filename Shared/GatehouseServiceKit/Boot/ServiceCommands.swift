public import ArgumentParser
import AsyncHTTPClient
import Foundation
import GatehouseObservability
public import GatehouseSettings
import Logging
import NIOCore
import NIOHTTP1
import Tracing
import UnixSignals

/// `<service> serve`: runs the service until SIGTERM or SIGINT.
public struct ServeCommand<Application: ServiceApplication>: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "serve", abstract: "Run \(Application.name) until SIGTERM or SIGINT.",
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
            let process = ServiceProcess(configuration, logger: logger)
            if let tracer = process.tracer { InstrumentationSystem.bootstrap(tracer) }
            try await process.run(stoppingOn: [.sigterm, .sigint])
        } catch {
            logger.critical("stopped by an error", error: error)
            throw CommandError.failure(Application.name, error)
        }
    }
}

/// `<service> check-config`: reports all problems of the settings.
public struct CheckConfigCommand<Application: ServiceApplication>: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "check-config", abstract: "Check the settings of \(Application.name) without running it.")
    }

    public init() {}

    public func run() async throws {
        let configuration = try ServiceConfiguration<Application>.loadOrExit()
        print("The settings of \(Application.name) are valid (\(configuration.environment.rawValue)).")
    }
}

/// `<service> health`: checks whether the service that runs with these settings is ready. It is the health check of an
/// image, which therefore needs neither a shell nor curl.
public struct HealthCommand<Application: ServiceApplication>: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "health", abstract: "Check on the admin port whether \(Application.name) is ready.",
            discussion: "Exits with 0 if it is ready. Otherwise prints the reason. The timeout is two seconds.")
    }

    public init() {}

    public func run() async throws {
        let settings = Settings(service: Application.name, environment: ProcessInfo.processInfo.environment)
        let address = ServiceConfiguration<Application>.adminListenAddress(from: settings)
        do {
            try settings.finish(allowingUnknown: true)
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
        do {
            let (isReady, body) = try await Self.probe(address.ofThisMachine)
            guard isReady else { throw NotReady(description: body) }
        } catch {
            throw CommandError.failure(Application.name, error)
        }
    }

    private static func probe(_ address: ListenAddress) async throws -> (isReady: Bool, body: String) {
        let response = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: "http://\(address)/readyz"), timeout: .seconds(2))
        let body = try await response.body.collect(upTo: 65_536)
        return (response.status == .ok, String(buffer: body))
    }
}

private struct NotReady: Error, CustomStringConvertible {
    var description: String
}

extension ListenAddress {
    /// The address at which this machine reaches the listener. A client cannot connect to a wildcard address.
    var ofThisMachine: ListenAddress {
        switch host {
        case "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
        case "::": ListenAddress(host: "::1", port: port)
        default: self
        }
    }
}

/// The failure of a command: lines on standard error and an exit code.
public enum CommandError {
    /// The settings are wrong. Prints a line for each, and exits with `EX_CONFIG` of sysexits.h.
    public static func wrongConfiguration(_ error: SettingsError) -> ExitCode {
        write(error.description)
        return ExitCode(78)
    }

    /// Any other failure. Prints one line.
    public static func failure(_ service: String, _ error: any Error) -> ExitCode {
        write("\(service): " + String(describing: error).split(separator: "\n").joined(separator: "; "))
        return .failure
    }

    private static func write(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }
}

extension ServiceConfiguration {
    /// As ``load(environment:)``, for commands: prints a line for each problem.
    ///
    /// - Throws: the exit code.
    public static func loadOrExit() throws(ExitCode) -> Self {
        do {
            return try load()
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
    }
}
