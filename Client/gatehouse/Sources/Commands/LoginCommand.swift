import ArgumentParser
import Foundation
import GatehouseClient

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Sign in with a password, or with the development simulator of Apple.",
        discussion: """
            The password is asked for, or read from standard input with --password-stdin: on a command line others \
            could read it.

              gatehouse login ada@example.com --url https://api.example.com
              gatehouse login ada@example.com --password-stdin <password-file
              gatehouse login ada@example.com --url http://127.0.0.1:8080 --apple-simulator http://127.0.0.1:8084
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var server: ServerOptions

    @Argument(help: "An e-mail address or a phone number.")
    var identifier: String?

    @Flag(help: "Read the password from standard input, up to the first line break.")
    var passwordStdin = false

    @Option(
        help: ArgumentHelp(
            "Sign in with Apple as the simulator of `make run` plays it; an e-mail address becomes the Apple user's.",
            valueName: "address"),
        transform: ServerOptions.address)
    var appleSimulator: URL?

    func validate() throws {
        if passwordStdin, appleSimulator != nil {
            throw ValidationError("The simulator asks for no password: leave --password-stdin out.")
        }
        if passwordStdin, identifier == nil {
            throw ValidationError("With --password-stdin say who signs in.")
        }
    }

    func run() async throws {
        try await common.run { invocation in
            if let appleSimulator {
                let simulator = AppleSimulator(address: appleSimulator, transport: invocation.console.transport)
                try await server.signIn(invocation, asking: {}) { client, _ in
                    let nonce = try await client.appleNonce()
                    let signIn = try await simulator.signIn(email: identifier, nonce: nonce)
                    return try await client.signInWithApple(
                        identityToken: signIn.identityToken, authorizationCode: signIn.authorizationCode, nonce: nonce)
                }
            } else {
                let console = invocation.console
                try await server.signIn(invocation) {
                    (
                        identifier: try await whoSignsIn(console),
                        password: try await PasswordInput(console: console).read(fromInput: passwordStdin)
                    )
                } _: { client, answer in
                    try await client.signIn(identifier: answer.identifier, password: answer.password)
                }
            }
        }
    }

    private func whoSignsIn(_ console: Console) async throws(CommandFailure) -> String {
        if let identifier { return identifier }
        guard let answer = try await console.ask(.line("E-mail or phone: ")), !answer.isEmpty else {
            throw CommandFailure(.usage, "Say who signs in: gatehouse login ada@example.com")
        }
        return answer
    }
}
