import ArgumentParser
import Foundation
import GatehouseServiceContracts
import IdentityCredentials

/// Operator commands for moving the app to another team at Apple. They run beside the service, with the same settings.
struct AppleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple",
        abstract: "Migrate users of Sign in with Apple when the app moves to another team at Apple.",
        subcommands: [TransferPrepare.self, TransferFinish.self])

    struct TransferPrepare: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "transfer-prepare",
            abstract: "Before the transfer, with your own key: fetch each user's transfer identifier from Apple.",
            discussion: "May be repeated: it continues with the users who have none yet.")

        @Option(help: "The id of the team that will receive the app.")
        var to: String

        func run() async throws {
            try await AppleTransfer.run { try printSummary(await $0.prepare(to: to, progress: report)) }
        }
    }

    struct TransferFinish: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "transfer-finish",
            abstract: "After the transfer, with the new team's key: fetch each user's new identifier from Apple.",
            discussion: "Apple answers for 60 days. May be repeated: it continues with the remaining users.")

        func run() async throws {
            try await AppleTransfer.run { try printSummary(await $0.finish(progress: report)) }
        }
    }
}

private func report(_ summary: AppleTransferSummary) {
    let line = "\(summary.asked) users asked for, \(summary.done) done, \(summary.unknownToApple) unknown to Apple\n"
    FileHandle.standardError.write(Data(line.utf8))
}

private func printSummary(_ summary: AppleTransferSummary) throws {
    print(String(decoding: try JSON.encode(summary), as: UTF8.self))
}
