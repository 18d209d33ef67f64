import AppleSimulator
import ArgumentParser
import ServiceKit

/// `apple-simulator`: Apple's sign-in and push service, for development and tests.
@main
struct AppleSimulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple-simulator",
        abstract: "Stands in for Apple's sign-in and push service in development and tests.",
        subcommands: [
            ServeCommand<AppleSimulatorApplication>.self, CheckConfigCommand<AppleSimulatorApplication>.self,
        ],
        defaultSubcommand: ServeCommand<AppleSimulatorApplication>.self)
}
