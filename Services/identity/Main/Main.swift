import ArgumentParser
import IdentityService
import ServiceKit
import ServiceKitPostgres

@main
struct Identity: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "Who the users are, how they prove it, and how their accounts live and end.",
        subcommands: [
            ServeCommand<IdentityApplication>.self, MigrateCommand<IdentityApplication>.self,
            CheckConfigCommand<IdentityApplication>.self, UsersCommand.self,
        ])
}
