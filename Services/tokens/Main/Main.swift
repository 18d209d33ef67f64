import ArgumentParser
import GatehouseServiceKit
import GatehouseSettings
import ServiceKitPostgres

@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens", abstract: "Sessions, refresh rotation, the signing key, revocation.",
        version: GatehouseVersion.description(),
        subcommands: [
            ServeCommand<TokensApplication>.self, MigrateCommand<TokensApplication>.self,
            CheckConfigCommand<TokensApplication>.self, DescribeCommand<TokensApplication>.self,
            HealthCommand<TokensApplication>.self,
            DoctorCommand<TokensApplication>.self, KeysCommand.self,
            AfterRestoreCommand.self,
        ])
}
