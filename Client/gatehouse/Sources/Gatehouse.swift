public import ArgumentParser
import Foundation
import GatehouseClient

/// The command-line client.
public struct Gatehouse: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "gatehouse",
        abstract: "Sign in to a Gatehouse and call services as yourself.",
        discussion: """
            A profile is a server and a session on it, kept in $XDG_CONFIG_HOME/gatehouse (~/.config/gatehouse) where \
            only you can read it. --profile or GATEHOUSE_PROFILE chooses one; without either it is "default".

            Results go to standard output, everything else to standard error. Exit status:
              0   done
              1   the server refused, for example because the resource does not exist
              64  wrong usage        65  invalid input        66  no such file
              69  the server cannot be reached or is temporarily unavailable
              70  the server failed  74  files of the profile cannot be read or written
              75  too many requests, try later
              77  not signed in, wrong password, or not allowed
              78  the profile has no server yet

            Shell completion: gatehouse --generate-completion-script bash (or zsh, fish)
            """,
        subcommands: [
            LoginCommand.self, RegisterCommand.self, MeCommand.self, CallCommand.self, SessionsCommand.self,
            DevicesCommand.self, LogoutCommand.self, ProfilesCommand.self,
        ])

    public init() {}
}

/// The inputs and outputs of a command, which tests replace.
struct Console: Sendable {
    /// The console of the running command.
    @TaskLocal static var current = Console.system

    var environment: [String: String]
    var transport: any GatehouseTransport
    var clock: any SessionClock
    /// Standard output.
    var write: @Sendable (Data) -> Void
    /// Standard error.
    var writeError: @Sendable (Data) -> Void
    /// All of standard input.
    var readInput: @Sendable () async throws -> Data
    /// Asks the user at the terminal; `nil` if there is no terminal.
    var ask: @Sendable (_ question: Question) async throws(CommandFailure) -> String?
    var timeZone: TimeZone

    /// A question to the user.
    enum Question: Sendable, Equatable {
        case line(String)
        /// The answer is not echoed.
        case secret(String)
    }

    func print(_ text: String) { write(Data((text + "\n").utf8)) }

    func printError(_ text: String) { writeError(Data((text + "\n").utf8)) }

    static var system: Console {
        Console(
            environment: ProcessInfo.processInfo.environment, transport: URLSessionTransport(),
            clock: SystemClock(),
            write: { FileHandle.standardOutput.write($0) }, writeError: { FileHandle.standardError.write($0) },
            readInput: { try await Terminal.runBlocking { try FileHandle.standardInput.readToEnd() ?? Data() } },
            ask: { question async throws(CommandFailure) in try await Terminal.ask(question) },
            timeZone: .current)
    }
}
