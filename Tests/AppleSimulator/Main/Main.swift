import ArgumentParser
import GatehouseServiceKit
import GatehouseSettings

/// `apple-simulator`: Apple's sign-in and push service, for development and tests.
@main
struct AppleSimulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple-simulator",
        abstract: "Simulates Apple's sign-in and push service in development and tests.",
        version: GatehouseVersion.description(),
        subcommands: [
            ServeCommand<AppleSimulatorApplication>.self, CheckConfigCommand<AppleSimulatorApplication>.self,
            HealthCommand<AppleSimulatorApplication>.self,
        ],
        defaultSubcommand: ServeCommand<AppleSimulatorApplication>.self)
}
