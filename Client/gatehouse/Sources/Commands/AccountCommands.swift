import ArgumentParser
import Foundation
import GatehouseClient
import GatehouseServiceContracts

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Sign in with a password, or with the development simulator of Apple.",
        discussion: """
            The command asks for the password, or reads it from standard input with --password-stdin. A password on \
            the command line would be visible to other users.

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
            "Sign in with Apple through the simulator of `make run`; an e-mail address becomes the Apple user's.",
            valueName: "address"),
        transform: ServerOptions.address)
    var appleSimulator: URL?

    func validate() throws {
        if passwordStdin, appleSimulator != nil {
            throw ValidationError("The simulator needs no password: omit --password-stdin.")
        }
        if passwordStdin, identifier == nil {
            throw ValidationError("--password-stdin needs an identifier.")
        }
    }

    func run() async throws {
        try await common.run { invocation in
            if let appleSimulator {
                let simulator = AppleSimulator(address: appleSimulator, transport: invocation.console.transport)
                try await server.signIn(invocation, asking: {}) { client, _ in
                    let nonce = try await client.appleNonce()
                    let signIn = try await simulator.signIn(email: identifier, nonce: nonce)
                    return try await client.signIn(
                        with: AppleCredential(
                            identityToken: signIn.identityToken, authorizationCode: signIn.authorizationCode,
                            nonce: nonce))
                }
            } else {
                let console = invocation.console
                try await server.signIn(invocation) {
                    (
                        identifier: try await readIdentifier(console),
                        password: try await PasswordInput(console: console).read(fromInput: passwordStdin)
                    )
                } _: { client, answer in
                    try await client.signIn(identifier: answer.identifier, password: answer.password)
                }
            }
        }
    }

    private func readIdentifier(_ console: Console) async throws(CommandFailure) -> String {
        if let identifier { return identifier }
        guard let answer = try await console.ask(.line("E-mail or phone: ")), !answer.isEmpty else {
            throw CommandFailure(.usage, "An identifier is required: gatehouse login ada@example.com")
        }
        return answer
    }
}

struct RegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register", abstract: "Create an account with a password and sign in.")

    @OptionGroup var common: CommonOptions
    @OptionGroup var server: ServerOptions

    @Argument(help: "An e-mail address or a phone number.")
    var identifier: String

    @Option(help: "The name that other users see.")
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

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "End the profile's session, here and at the server.",
        discussion: "The profile stays, with its server. A logout that the server misses is sent with the next command."
    )

    @OptionGroup var common: CommonOptions

    @Flag(help: "End your sessions on all devices.")
    var everywhere = false

    func run() async throws {
        try await common.run { invocation in
            let client = try await invocation.client()
            if everywhere {
                try await client.signOutEverywhere()
            } else {
                try await client.signOut()
            }
            try invocation.show(Done(), everywhere ? "Signed out everywhere." : "Signed out.")
        }
    }

    private struct Done: Encodable {
        var signedIn = false
    }
}

struct MeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "me", abstract: "Show the signed-in user.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { invocation in
            let user = try await invocation.client().me()
            try invocation.show(user, invocation.report.user(user))
        }
    }
}

struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "List your sessions on all devices, or end some.",
        subcommands: [List.self, End.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List your sessions on all devices.")

        @OptionGroup var common: CommonOptions

        func run() async throws {
            try await common.run { invocation in
                let sessions = try await invocation.client().sessions()
                try invocation.show(SessionList(sessions: sessions), invocation.report.sessions(sessions))
            }
        }
    }

    struct End: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End sessions. Ending this profile's own session is a logout.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "As listed; the first characters suffice if they are unique.")
        var ids: [String]

        func run() async throws {
            try await common.run { invocation in
                let client = try await invocation.client()
                let sessions = try await client.sessions()
                // Resolve all ids before the first session ends.
                var ended = try ids.map { try Self.session(named: $0, among: sessions) }
                // End this session last, because it authenticates the other requests.
                ended.sort { !$0.current && $1.current }
                for session in ended { try await client.endSession(session) }
                try invocation.show(
                    SessionList(sessions: ended),
                    "Ended \(ended.count == 1 ? "the session" : "\(ended.count) sessions").")
            }
        }

        static func session(
            named beginning: String, among sessions: [SessionInfo]
        ) throws(CommandFailure) -> SessionInfo {
            let found = sessions.filter { Report.text($0.id).hasPrefix(beginning.lowercased()) }
            guard let session = found.first, !beginning.isEmpty else {
                throw CommandFailure(.refused, "There is no session \(beginning).", code: "notFound")
            }
            guard found.count == 1 else {
                throw CommandFailure(.usage, "There are \(found.count) sessions that begin with \(beginning).")
            }
            return session
        }
    }
}

struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List your devices that are registered for push notifications.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { invocation in
            let devices = try await invocation.client().devices()
            try invocation.show(DeviceList(devices: devices), invocation.report.devices(devices))
        }
    }
}
