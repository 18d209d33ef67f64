import ArgumentParser
import Contracts
import Foundation
import IdentityService

extension UsersCommand {
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make users from JSON Lines. Who is there already is left as they are, so it may be repeated.",
            discussion: """
                A line has the fields that `identity users export` writes. Each line that is refused is told on standard \
                error, `line N: why`; at the end there is a summary as one line of JSON, and the status is 1 if any was.
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

        /// - Returns: the file and its size in bytes, where it has one.
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

        @Flag(help: "With passwords' hashes. They are of use only with the pepper's file.")
        var passwordHashes = false

        @Option(help: "Go on after the user of this id.")
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
