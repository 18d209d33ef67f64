import Foundation
import GatehouseClient

/// All that a command takes from the world and gives to it, so that tests can be the world.
struct Console: Sendable {
    /// The one of the command that runs.
    @TaskLocal static var current = Console.system

    var environment: [String: String]
    var transport: any Transport
    var clock: any SessionClock
    /// Standard output.
    var write: @Sendable (Data) -> Void
    /// Standard error.
    var complain: @Sendable (Data) -> Void
    /// All of standard input.
    var readInput: @Sendable () async throws -> Data
    /// Asks whoever sits at the terminal; `nil` where nobody does.
    var ask: @Sendable (_ question: Question) async throws(CommandFailure) -> String?
    var timeZone: TimeZone

    /// What a person is asked.
    enum Question: Sendable, Equatable {
        case line(String)
        /// What is typed is not shown.
        case secret(String)
    }

    func print(_ text: String) { write(Data((text + "\n").utf8)) }

    func complain(_ text: String) { complain(Data((text + "\n").utf8)) }

    static var system: Console {
        Console(
            environment: ProcessInfo.processInfo.environment, transport: URLSessionTransport(),
            clock: SystemClock(),
            write: { FileHandle.standardOutput.write($0) }, complain: { FileHandle.standardError.write($0) },
            readInput: { try await Terminal.apart { try FileHandle.standardInput.readToEnd() ?? Data() } },
            ask: { question async throws(CommandFailure) in try await Terminal.ask(question) },
            timeZone: .current)
    }
}
