import Crypto
import Foundation
import TestKit
import Testing

@testable import IdentityCredentials

@Suite struct BreachedPasswordsTests {
    private static func hash(_ text: String) -> [UInt8] { Array(Insecure.SHA1.hash(data: Data(text.utf8))) }
    private static func line(_ text: String, _ count: Int? = nil) -> String {
        hash(text).map { String(format: "%02X", $0) }.joined() + (count.map { ":\($0)" } ?? "")
    }

    private func withFilter(
        of lines: String, leastCount: Int = 1,
        _ body: (BreachedPasswords, PasswordFilterBuilder.Outcome) async throws -> Void
    ) async throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let output = try files.write("")
        let builder = PasswordFilterBuilder(
            source: try files.write(lines), destination: output, leastCount: leastCount)
        let outcome = try builder.build()
        #expect(try FileManager.default.attributesOfItem(atPath: output)[.size] as? Int == outcome.bytes)
        try await body(BreachedPasswords(path: output), outcome)
    }

    /// Lists of several reads, and the figure that docs/reference/identity.md promises.
    @Test(arguments: [10, 1_000, 60_000])
    func hasWhatWasPutInAndOneInAThousandOfTheRest(count: Int) async throws {
        let lines = (0..<count).map { Self.line("breached \($0)", $0 + 1) }.shuffled().joined(separator: "\r\n")
        try await withFilter(of: lines) { breached, outcome in
            #expect(outcome.entries == count)
            #expect(outcome.bytes <= 128 + count * 9 / 4 + 64)
            for number in 0..<count {
                guard try breached.contain(Self.hash("breached \(number)")) else {
                    Issue.record("\(number) is missing")
                    return
                }
            }
            var generator = SystemRandomNumberGenerator()
            var mistaken = 0
            let tries = 60_000
            for _ in 0..<tries {
                let other = (0..<20).map { _ in UInt8.random(in: 0...255, using: &generator) }
                if try breached.contain(other) { mistaken += 1 }
            }
            // Some 0.45 in a thousand; a thousand of ten hashes in one block are another matter.
            #expect(Double(mistaken) / Double(tries) <= 0.001, "\(mistaken) of \(tries)")
        }
    }

    @Test func whatWasSeenSeldomCanBeLeftOut() async throws {
        let lines =
            [Self.line("often", 100), Self.line("seldom", 9), Self.line("unknown")].joined(separator: "\n") + "\n"
        try await withFilter(of: lines, leastCount: 10) { breached, outcome in
            #expect(outcome.entries == 2)
            let found = try ["often", "unknown", "seldom"].map { try breached.contain(Self.hash($0)) }
            #expect(found == [true, true, false])
            #expect(try await breached.contain(Password("often")))
        }
    }

    @Test func aListThatIsNoneLeavesTheOldFilter() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let output = try files.write("old")
        for (text, reason) in [
            ("", "holds no hash"), ("\n\n", "holds no hash"),
            ("\(Self.line("a"))\npassword\n", "line 2 is not a SHA-1"),
            (String(repeating: "x", count: 5000), "Line 1 is longer"),
        ] {
            let list = try files.write(text)
            let error = #expect(throws: PasswordFilterError.self) {
                try PasswordFilterBuilder(source: list, destination: output).build()
            }
            #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
            #expect(try String(contentsOfFile: output, encoding: .utf8) == "old")
            #expect(!FileManager.default.fileExists(atPath: output + ".unfinished"))
        }
        let missing = PasswordFilterBuilder(source: output + "-missing", destination: output)
        #expect(throws: PasswordFilterError.self) { try missing.build() }
    }

    @Test func aFileThatIsNoFilterIsRefused() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let list = try files.write(Self.line("a"))
        let output = try files.write("")
        _ = try PasswordFilterBuilder(source: list, destination: output).build()
        let whole = try Data(contentsOf: URL(filePath: output))
        for data in [Data(), whole.prefix(64), whole.dropLast(), whole + [0], Data(whole.reversed())] {
            try data.write(to: URL(filePath: output))
            #expect(throws: PasswordFilterError.self) { try BreachedPasswords(path: output) }
        }
        #expect(throws: PasswordFilterError.self) { try BreachedPasswords(path: output + "-missing") }
    }
}
