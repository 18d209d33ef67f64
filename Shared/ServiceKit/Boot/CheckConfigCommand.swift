public import ArgumentParser
import Settings

/// `<service> check-config`: tells what is wrong with the settings, all at once.
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
