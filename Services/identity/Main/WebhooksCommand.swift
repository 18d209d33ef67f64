import ArgumentParser
import GatehouseServiceContracts

/// Operator commands for the receivers of events. They run beside the service, with the same settings.
struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks", abstract: "Print the delivery position of webhooks, and send events again.",
        subcommands: [List.self, Replay.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print each webhook as one line of JSON.")

        func run() async throws {
            try await WebhookAdministration.run { administration in
                for entry in try await administration.list() {
                    print(String(decoding: try JSON.encode(entry), as: UTF8.self))
                }
            }
        }
    }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send events again, in their order, or skip those that wait.")

        @Argument(help: "The webhook's address, as in the setting.")
        var url: String

        @Option(help: "A cursor that the receiver was sent. The events after it are sent again.")
        var after: String?

        @Flag(help: "Send everything that is kept.")
        var all = false

        @Flag(help: "Skip everything that waits.")
        var skip = false

        func validate() throws {
            guard [after != nil, all, skip].filter(\.self).count == 1 else {
                throw ValidationError("Give one of --after CURSOR, --all and --skip.")
            }
        }

        func run() async throws {
            try await WebhookAdministration.run {
                try await $0.replay(url, after: all ? "" : skip ? "latest" : after ?? "")
            }
        }
    }
}
