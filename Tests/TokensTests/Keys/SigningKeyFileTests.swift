import Foundation
import GatehouseAccessTokens
import MetricsTestKit
import TestKit
import Testing

@testable import TokensService

/// Files of signing keys as commands change them and a running service follows them.
@Suite struct SigningKeyFileTests {
    /// A folder of its own, and in it the name of a file.
    private func withFile(_ body: (SigningKeyFile) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(SigningKeyFile(path: folder.appending(path: "signing.pem").path))
    }

    private func generate(_ file: SigningKeyFile, publicKeyTo path: String? = nil) throws -> SigningKeys.Entry {
        try KeyGenerator(isForDevelopment: false).writeSigningKey(bits: 2048, to: file.path, publicKeyTo: path)
    }

    /// A source that follows the file until the task is cancelled.
    private func follow(
        _ file: SigningKeyFile
    ) throws -> (source: SigningKeySource, log: CapturedLog, following: Task<Void, any Error>) {
        let log = CapturedLog()
        let source = try SigningKeySource(
            file.read(), file: file, issuer: "http://gatehouse.localhost", audience: "gatehouse", logger: log.logger,
            pause: .milliseconds(5))
        return (source, log, Task { try await source.run() })
    }

    /// Replaces the file in one step.
    private func put(_ text: String, mode: mode_t, in file: SigningKeyFile) throws {
        try KeyFile.replace(file.path + ".new", with: text, mode: mode)
        try #require(rename(file.path + ".new", file.path) == 0)
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func files(beside file: SigningKeyFile) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: URL(filePath: file.path).deletingLastPathComponent().path
        ).sorted()
    }

    @Test("A key changes its state: a metric has the time of the change")
    func stateMetrics() async throws {
        try await withFile { file in
            let first = try generate(file)
            let made = try #require(first.since, "the file of a new key says since when it signs")
            let factory = TestMetrics()
            let metrics = SigningKeyMetrics(factory: factory)
            func since(_ kid: String, _ state: String) -> Double? {
                try? factory.expectMeter(
                    "tokens_signing_key_state_timestamp_seconds", [("kid", kid), ("state", state)]
                ).lastValue
            }
            let now = Date(timeIntervalSince1970: 1_800_000_000)
            metrics.record(try file.read(), readAt: now)
            #expect(abs((since(first.keyID, "active") ?? 0) - made.timeIntervalSince1970) < 1)
            #expect(try factory.expectMeter("tokens_signing_keys_read_timestamp_seconds").lastValue == 1_800_000_000)
            let second = try generate(file)
            try file.change { try $0.rotate(at: now, force: true) }
            metrics.record(try file.read())
            #expect(since(first.keyID, "active") == nil, "it signs no more")
            #expect(since(first.keyID, "retiring") == 1_800_000_000)
            #expect(since(second.keyID, "active") == 1_800_000_000)
            metrics.record(SigningKeys(first: TokensFixture.signingKey, isForDevelopment: true))
            #expect(since(second.keyID, "active") == nil, "of a file without a time nothing is told")
        }
    }

    @Test func aChangedFileKeepsItsModeAndItsLink() async throws {
        try await withFile { file in
            _ = try generate(file)
            #expect(try mode(file.path) == 0o600)
            let link = SigningKeyFile(path: file.path + ".link")
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "signing.pem")
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
            _ = try generate(link)
            #expect(try mode(file.path) == 0o640, "a service of the file's group still reads it")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "signing.pem")
            #expect(try file.read().entries.map(\.state) == [.active, .next])
            #expect(try files(beside: file) == ["signing.pem", "signing.pem.link"])
        }
    }

    @Test func aRefusedChangeLeavesTheFile() async throws {
        try await withFile { file in
            _ = try generate(file)
            _ = try generate(file)
            let before = try file.read().text
            #expect(throws: SigningKeysError.self) { try generate(file) }
            #expect(throws: SigningKeysError.self) { try file.change { try $0.rotate(at: .now) } }
            #expect(try file.read().text == before)
            #expect(try files(beside: file) == ["signing.pem"])
        }
    }

    @Test func ofChangesAtOnceNoneIsLost() async throws {
        try await withFile { file in
            _ = try generate(file)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<4 {
                    let key = try RSAPrivateKey.generate()
                    group.addTask {
                        // Each change adds one key, whatever the others do.
                        try file.change { keys in
                            try keys.add(next: key, at: .now)
                            try keys.rotate(at: .now, force: true)
                            return true
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try file.read().entries.count == 5)
        }
    }

    @Test func thePublicFileHoldsEveryKey() async throws {
        try await withFile { file in
            let path = file.path + ".public"
            let first = try generate(file, publicKeyTo: path)
            let second = try generate(file, publicKeyTo: path)
            let keys = try VerificationKeySet(pem: String(contentsOfFile: path, encoding: .utf8))
            #expect(keys.keyIDs.sorted() == [first.keyID, second.keyID].sorted())
            #expect(try mode(path) == 0o644)
            // When the public file cannot be written, no key is added either.
            let before = try file.read().text
            try file.change { try $0.rotate(at: .now, force: true) }
            #expect(throws: (any Error).self) { try generate(file, publicKeyTo: "/does/not/exist/public") }
            #expect(try file.read().entries.map(\.state) == [.active, .retiring])
            #expect(try file.read().text != before)
        }
    }

    @Test func aRunningServiceFollowsWhatMayBeUsedAlone() async throws {
        try await withFile { file in
            let first = try generate(file)
            let (source, log, following) = try follow(file)
            defer { following.cancel() }
            let other = try RSAPrivateKey.generate().pem
            let bad = [
                ("# development\n" + other, 0o600), (other, 0o644), ("junk", 0o600),
                ("# next since yesterday\n" + other, 0o600),
            ]
            for (text, mode) in bad {
                let complaints = log.lines.count
                try put(text, mode: mode_t(mode), in: file)
                try await eventually("it complains") { log.lines.count > complaints }
                #expect(source.published.keyIDs == [first.keyID])
            }
            try FileManager.default.removeItem(atPath: file.path)
            let second = try generate(file)
            try await eventually("it signs with the new key") { source.signer.publicKey.thumbprint == second.keyID }
        }
    }

    /// Written in two steps, as by hand: first the file, then its mode.
    @Test func aFileThatWasRefusedIsTakenOnceItMayBeUsed() async throws {
        try await withFile { file in
            _ = try generate(file)
            let (source, log, following) = try follow(file)
            defer { following.cancel() }
            let other = try RSAPrivateKey.generate()
            try put(other.pem, mode: 0o644, in: file)
            try await eventually("it is refused") { log.lines.contains { $0.hasPrefix("error") } }
            try #require(chmod(file.path, 0o600) == 0)
            try await eventually("it is used") { source.signer.publicKey == other.publicKey }
            #expect(log.lines.count(where: { $0.hasPrefix("error") }) == 1, "however often it was looked at")
        }
    }
}
