import ArgumentParser
import GatehouseServiceKit
import GatehouseSettings
import ServiceKitPostgres

@main
struct Devices: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "Which push address belongs to which user.",
        version: GatehouseVersion.description(),
        subcommands: [
            ServeCommand<DevicesApplication>.self, MigrateCommand<DevicesApplication>.self,
            CheckConfigCommand<DevicesApplication>.self, DescribeCommand<DevicesApplication>.self,
            HealthCommand<DevicesApplication>.self,
            DoctorCommand<DevicesApplication>.self, ListCommand.self,
            EventsCommand.self, PushCommand.self,
        ])
}
