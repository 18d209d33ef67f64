import ArgumentParser
import Foundation
import GatehouseServiceContracts

/// Operator commands for accounts. They run beside the service, with the same settings.
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
            abstract: "Create a user. The identifier counts as verified.")

        @Option(help: "An e-mail address or a phone number.")
        var identifier: String

        @Flag(help: "Read the password from standard input, up to the first line break.")
        var passwordStdin = false

        @Option(help: "A lower-case letter and up to 31 letters, digits, _ or -.")
        var role = "user"

        @Option(name: .customLong("store"), help: "A store that the user belongs to; may be given several times.")
        var stores: [String] = []

        @Option(help: "The user's display name.")
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
            abstract: "Disable a user, and end the user's sessions.")

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
            abstract: "Set a user's role, and stores if given. Access tokens change at the next refresh.")

        @Argument(help: "An id, an e-mail address or a phone number.")
        var user: String

        @Argument(help: "A lower-case letter and up to 31 letters, digits, _ or -.")
        var role: String

        @Option(name: .customLong("store"), help: "Replaces the user's stores; may be given several times.")
        var stores: [String] = []

        @Flag(help: "Remove all stores.")
        var noStores = false

        func run() async throws {
            let storeIDs = noStores ? [] : stores.isEmpty ? nil : stores
            try await printEntry { try await $0.setRole(role, storeIDs: storeIDs, user: user) }
        }
    }
}

/// Prints the user as it is after `change`.
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
        The change is saved, but the tokens service has not received it: \(pending.joined(separator: ", ")).\(consequence)
        The running identity service retries until it succeeds.

        """
    FileHandle.standardError.write(Data(text.utf8))
}

extension UsersCommand {
    struct AddIdentifier: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set a user's e-mail address or phone number, replacing the existing one.",
            discussion: """
                It counts as verified. An account that has it unverified loses it.
                """)

        @Argument(help: "An id, an e-mail address or a phone number.")
        var user: String

        @Argument(help: "The e-mail address or phone number that the user is to have.")
        var identifier: String

        func run() async throws {
            try await printEntry { try await $0.addIdentifier(identifier, user: user) }
        }
    }

    struct MoveIdentifier: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move an e-mail address or phone number from its user to another user.",
            discussion: "It counts as verified. The receiving user must have none of its kind.")

        @Argument(help: "The e-mail address or phone number.")
        var identifier: String

        @Argument(help: "The receiving user: an id, an e-mail address or a phone number.")
        var user: String

        func run() async throws {
            try await printEntry { try await $0.moveIdentifier(identifier, to: user) }
        }
    }

    struct RemoveIdentifier: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an e-mail address or phone number, unless it is the last credential.")

        @Argument(help: "The e-mail address or phone number.")
        var identifier: String

        func run() async throws {
            try await printEntry { try await $0.removeIdentifier(identifier) }
        }
    }
}

extension UsersCommand {
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Import users from JSON Lines. Existing users are unchanged, so it may be repeated.",
            discussion: """
                A line has the fields that `identity users export` writes. Each refused line is reported on standard \
                error as `line N: reason`. The last output is a summary as one line of JSON. The exit status is 1 if any \
                line was refused.
                """)

        @Argument(help: "The file; - for standard input.")
        var file: String

        @Flag(help: "Check every line, and write nothing.")
        var dryRun = false

        @Option(help: "Begin with this line.")
        var fromLine = 1

        func run() async throws {
            let (input, size) = try open()
            var refused = 0
            try await UserTransfer.run { transfer in
                let bar = ProgressLine(unit: "users", total: size)
                let summary = try await transfer.importUsers(from: input, first: fromLine, isDry: dryRun) { flaw in
                    FileHandle.standardError.write(Data("line \(flaw.line): \(flaw.reason)\n".utf8))
                } progress: { summary, bytes in
                    bar.show(summary.lines, part: bytes)
                }
                bar.end()
                refused = summary.refused
                print(String(decoding: try JSON.encode(summary), as: UTF8.self))
            }
            if refused > 0 { throw ExitCode.failure }
        }

        /// - Returns: the file and its size in bytes; the size is `nil` where it is unknown.
        private func open() throws -> (FileHandle, Int?) {
            if file == "-" { return (.standardInput, nil) }
            guard let handle = FileHandle(forReadingAtPath: file) else {
                throw ValidationError("\(file) cannot be read.")
            }
            let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
            return (handle, size)
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print every user, oldest first, as a line of JSON that `identity users import` reads.")

        @Flag(help: "Include password hashes. Verifying them needs the pepper's file.")
        var passwordHashes = false

        @Option(help: "Continue after the user with this id.")
        var after: String?

        func run() async throws {
            let last = try after.map { text in
                guard let id = UUID(uuidString: text) else { throw ValidationError("--after is a user's id.") }
                return id
            }
            try await UserTransfer.run { transfer in
                let progress = ProgressLine(unit: "users")
                try await transfer.exportUsers(after: last, withHashes: passwordHashes) { lines in
                    try FileHandle.standardOutput.write(contentsOf: lines)
                } progress: {
                    progress.show($0)
                }
                progress.end()
            }
        }
    }
}

/// The progress of a command: one line on standard error that is overwritten, if standard error is a terminal.
final class ProgressLine {
    private let unit: String
    private let total: Int?
    private let isSeen = isatty(STDERR_FILENO) == 1
    private let start = ContinuousClock.now
    private var shownAt = ContinuousClock.now

    /// - Parameter total: `nil` where the total is unknown.
    init(unit: String, total: Int? = nil) {
        self.unit = unit
        self.total = total
    }

    /// - Parameters:
    ///   - count: the number of items done.
    ///   - part: the progress towards `total`, where `total` has another unit than `count`.
    func show(_ count: Int, part: Int? = nil) {
        let now = ContinuousClock.now
        guard isSeen, now - shownAt > .milliseconds(200) else { return }
        shownAt = now
        let rate = Int(Double(count) / max((now - start) / .seconds(1), 0.001))
        var line = "\(count) \(unit), \(rate) a second"
        if let total, total > 0 {
            let done = min(part ?? count, total)
            let width = 30 * done / total
            let bar = String(repeating: "#", count: width) + String(repeating: ".", count: 30 - width)
            line = "[\(bar)] \(100 * done / total) %  " + line
        }
        FileHandle.standardError.write(Data("\r\u{1B}[K\(line)".utf8))
    }

    func end() {
        if isSeen { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
    }
}
