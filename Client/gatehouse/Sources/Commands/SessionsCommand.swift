import ArgumentParser
import GatehouseClient

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
            abstract: "End sessions. The one that this profile uses is a logout.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "As listed; the first characters will do where no other begins so.")
        var ids: [String]

        func run() async throws {
            try await common.run { invocation in
                let client = try await invocation.client()
                let sessions = try await client.sessions()
                // All are looked up before the first one ends.
                var ended = try ids.map { try Self.session(named: $0, among: sessions) }
                // This one last: the others end in its name.
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
