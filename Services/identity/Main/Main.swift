import ArgumentParser
import GatehouseServiceKit
import GatehouseSettings
import ServiceKitPostgres

@main
struct Identity: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "Users, their authentication, and the life cycle of their accounts.",
        version: GatehouseVersion.description(),
        subcommands: [
            ServeCommand<IdentityApplication>.self, MigrateCommand<IdentityApplication>.self,
            CheckConfigCommand<IdentityApplication>.self, DescribeCommand<IdentityApplication>.self,
            HealthCommand<IdentityApplication>.self,
            DoctorCommand<IdentityApplication>.self, UsersCommand.self, AppleCommand.self, AuditCommand.self,
            WebhooksCommand.self, PasswordsCommand.self,
        ])
}
