import ArgumentParser
import DevicesService
import ServiceKit
import ServiceKitPostgres

@main
struct Devices: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "Which push address belongs to which user.",
        subcommands: [
            ServeCommand<DevicesApplication>.self, MigrateCommand<DevicesApplication>.self,
            CheckConfigCommand<DevicesApplication>.self, ListCommand.self,
        ])
}
