import ArgumentParser
import ServiceKit
import ServiceKitPostgres
import TokensService

@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens", abstract: "Sessions, refresh rotation, the signing key, revocation.",
        subcommands: [
            ServeCommand<TokensApplication>.self, MigrateCommand<TokensApplication>.self,
            CheckConfigCommand<TokensApplication>.self, KeysCommand.self,
        ])
}
