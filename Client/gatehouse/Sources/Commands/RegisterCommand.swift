import ArgumentParser
import GatehouseClient

struct RegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register", abstract: "Make an account with a password, and sign in.")

    @OptionGroup var common: CommonOptions
    @OptionGroup var server: ServerOptions

    @Argument(help: "An e-mail address or a phone number.")
    var identifier: String

    @Option(help: "The name that others see.")
    var displayName: String?

    @Flag(help: "Read the password from standard input, up to the first line break.")
    var passwordStdin = false

    func run() async throws {
        try await common.run { invocation in
            try await server.signIn(invocation) {
                try await PasswordInput(console: invocation.console).read(fromInput: passwordStdin, repeated: true)
            } _: { client, password in
                try await client.register(identifier: identifier, password: password, displayName: displayName)
            }
        }
    }
}
