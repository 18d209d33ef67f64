import ArgumentParser
import Foundation
import IdentityCredentials

/// Operator commands about passwords in general. None of them needs the service's settings.
struct PasswordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwords", abstract: "Choose how passwords are hashed, and which are refused.",
        subcommands: [Calibrate.self, Filter.self])

    struct Calibrate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Measure hashes on this machine and print the settings for the time you choose.",
            discussion: """
                Run it where the service runs and nothing else is busy. Stored hashes are replaced as their users sign \
                in.
                """)

        @Option(help: "How long one hash should take.")
        var milliseconds = 100

        @Option(help: "The most memory for one hash, in KiB.")
        var memory = 65_536

        @Option(help: "How many hashes run at once: IDENTITY_HASHING_THREADS.")
        var threads = max(1, ProcessInfo.processInfo.activeProcessorCount - 1)

        func validate() throws {
            guard (1...10_000).contains(milliseconds) else { throw ValidationError("--milliseconds: 1 to 10000.") }
            guard (1...256).contains(threads) else { throw ValidationError("--threads: 1 to 256.") }
            guard PasswordCalibration.memoryRange.contains(memory) else {
                let range = PasswordCalibration.memoryRange
                throw ValidationError("--memory: \(range.lowerBound) to \(range.upperBound).")
            }
        }

        func run() throws {
            let calibration = PasswordCalibration(
                target: .milliseconds(milliseconds), maximumMemory: memory, threads: threads)
            guard let outcome = calibration.run() else {
                throw ValidationError("There is not enough memory for \(threads) hashes at once.")
            }
            for (name, value) in outcome.settings { print("\(name)=\(value)") }
            let note = """
                \(Self.text(outcome.duration)) for a hash with these, \(Self.text(outcome.least)) with the least that \
                is allowed; \(threads) at once.

                """
            FileHandle.standardError.write(Data(note.utf8))
        }

        private static func text(_ duration: Duration) -> String {
            "\(Int((duration / .milliseconds(1)).rounded())) ms"
        }
    }

    struct Filter: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Refuse passwords that are known from breaches.", subcommands: [Build.self])
    }

    struct Build: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Build IDENTITY_BREACHED_PASSWORDS_FILE from a list of SHA-1 hashes.",
            discussion: """
                The list has a hash in hexadecimal on each line, with or without a colon and a count, as Have I Been \
                Pwned gives them. It may be larger than memory. The file takes 2.25 bytes for each hash.
                """)

        @Argument(help: "The list.")
        var list: String

        @Option(help: "The file to build; an existing file is replaced.")
        var output = "breached-passwords.filter"

        @Option(help: "Leave out hashes with a smaller count in the list.")
        var seenAtLeast = 1

        func run() throws {
            let outcome = try PasswordFilterBuilder(source: list, destination: output, leastCount: seenAtLeast).build()
            print("\(output): \(outcome.entries) hashes, \(outcome.bytes) bytes")
        }
    }
}
