import ArgumentParser
import ServiceKit
import TokensService

@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens", abstract: "Sessions, refresh rotation, the signing key, revocation.",
        subcommands: [
            ServeCommand<TokensApplication>.self, CheckConfigCommand<TokensApplication>.self, KeysCommand.self,
        ])
}
