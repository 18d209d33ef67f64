import ArgumentParser
import Foundation
import GatehouseServiceContracts

/// Operator commands that read and verify the audit log. They run beside the service, with the same settings.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Read the audit log, and verify that it has not been changed.",
        subcommands: [List.self, Verify.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print entries, newest first, as one line of JSON each.")

        @Option(help: "Only what happened to this user: an id, an e-mail address or a phone number.")
        var user: String?

        @Option(help: "Continue after the entry with this id.")
        var before: Int64?

        @Option(help: "How many entries, 1 to 10000.")
        var limit = 100

        func validate() throws {
            guard (1...10_000).contains(limit) else { throw ValidationError("--limit is a number from 1 to 10000.") }
        }

        func run() async throws {
            try await AuditAdministration.run { administration in
                for entry in try await administration.list(user: user, before: before, limit: limit) {
                    print(String(decoding: try JSON.encode(entry), as: UTF8.self))
                }
            }
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Verify the hash chain of the whole log. The exit status is 1 if it is broken.")

        @Option(help: "The head that an earlier run printed, NUMBER:DIGEST. It must still be in the chain.")
        var noted: String?

        func run() async throws {
            var isIntact = false
            try await AuditAdministration.run { administration in
                let progress = ProgressLine(unit: "entries")
                let report = try await administration.verify(noted: noted) { progress.show($0) }
                progress.end()
                isIntact = report.isIntact
                print(String(decoding: try JSON.encode(report), as: UTF8.self))
            }
            if !isIntact { throw ExitCode.failure }
        }
    }
}
