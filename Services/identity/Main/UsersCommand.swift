import ArgumentParser
import Contracts
import Foundation
import IdentityService

/// What operators do with accounts. Runs beside the service, with the same settings.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Create, list, disable and enable users, set their roles and identifiers, move them in and out.",
        subcommands: [
            Create.self, List.self, Disable.self, Enable.self, SetRole.self, AddIdentifier.self, MoveIdentifier.self,
            RemoveIdentifier.self, Import.self, Export.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a user. The identifier counts as verified, by your word.")

        @Option(help: "An e-mail address or a phone number.")
        var identifier: String

        @Flag(help: "Read the password from standard input, up to the first line break.")
        var passwordStdin = false

        @Option(help: "A lower-case letter and up to 31 letters, digits, _ or -.")
        var role = "user"

        @Option(name: .customLong("store"), help: "A store that the user belongs to; may be given several times.")
        var stores: [String] = []

        @Option(help: "The name that the user goes by.")
        var displayName: String?

        func validate() throws {
            if !passwordStdin {
                throw ValidationError("Give the password on standard input, with --password-stdin.")
            }
        }

        func run() async throws {
            guard let password = readLine(strippingNewline: true) else {
                throw ValidationError("There is no password on standard input.")
            }
            try await printEntry { administration in
                try await administration.create(
                    identifier: identifier, password: password, displayName: displayName, role: role, storeIDs: stores)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print every user, oldest first, as one line of JSON each.")

        func run() async throws {
            try await UserAdministration.run { administration in
                try await administration.list { try print(entry: $0) }
            }
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep a user from signing in, and end the user's sessions.")

        @Argument(help: "An id, an e-mail address or a phone number.")
        var user: String

        func run() async throws {
            try await printEntry { try await $0.setDisabled(true, user: user) }
        }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let a disabled user sign in again.")

        @Argument(help: "An id, an e-mail address or a phone number.")
        var user: String

        func run() async throws {
            try await printEntry { try await $0.setDisabled(false, user: user) }
        }
    }

    struct SetRole: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set a user's role, and the stores if any are given. Access tokens follow at their next refresh.")

        @Argument(help: "An id, an e-mail address or a phone number.")
        var user: String

        @Argument(help: "A lower-case letter and up to 31 letters, digits, _ or -.")
        var role: String

        @Option(name: .customLong("store"), help: "Replaces the user's stores; may be given several times.")
        var stores: [String] = []

        @Flag(help: "Take all stores away.")
        var noStores = false

        func run() async throws {
            let storeIDs = noStores ? [] : stores.isEmpty ? nil : stores
            try await printEntry { try await $0.setRole(role, storeIDs: storeIDs, user: user) }
        }
    }
}

/// Prints the user as `change` has left them.
func printEntry(
    _ change: (UserAdministration) async throws -> UserAdministration.Entry
) async throws {
    try await UserAdministration.run { try print(entry: await change($0)) }
}

private func print(entry: UserAdministration.Entry) throws {
    print(String(decoding: try JSON.encode(entry), as: UTF8.self))
    guard let pending = entry.pending else { return }
    let consequence = pending.contains("revoke_sessions") ? " The user's sessions have not ended yet." : ""
    let text = """
        The change stands, but the tokens service could not be told: \(pending.joined(separator: ", ")).\(consequence)
        The identity service goes on trying for as long as it runs.

        """
    FileHandle.standardError.write(Data(text.utf8))
}
