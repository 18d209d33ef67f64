import Contracts
import Crypto
import Foundation
import ServiceKit
import Testing

@testable import IdentityService

@Suite struct PasswordPolicyTests {
    private let policy = PasswordPolicy()

    private func weakness(_ text: String, for identifier: String = "ada@example.com") throws -> String? {
        policy.weakness(of: try Password(text), for: [identifier])
    }

    @Test func lengthCountsAndCompositionDoesNot() throws {
        #expect(try weakness("short7!") != nil)
        #expect(try weakness("tulpenzwiebel") == nil)
        #expect(try weakness("kaffee und kuchen") == nil)
        #expect(try weakness("пароль-с-кухни") == nil)
        #expect(try weakness("🚀🐘🌋🎻🧊🪀🥝🛶") == nil)
        #expect(try weakness(String(repeating: "ab3", count: 85)) == nil)
        #expect(PasswordPolicy(minimumLength: 15).weakness(of: try Password("tulpenzwiebel"), for: []) != nil)
    }

    @Test(
        arguments: [
            "password", "PASSWORD", "Password123", "12345678", "87654321", "abcdefgh", "aaaaaaaa", "abababab",
            "qwertyuiop", "iloveyou", "P@ssw0rd", "ｐａｓｓｗｏｒｄ", "ada@example.com", "ADA@EXAMPLE.COM",
        ])
    func refusesWhatIsTriedFirst(text: String) throws {
        #expect(try weakness(text) != nil)
    }

    @Test func refusesTheLocalPartAndTheNumber() throws {
        #expect(try weakness("adalovelace", for: "adalovelace@example.com") != nil)
        #expect(try weakness("+491711234567", for: "+491711234567") != nil)
    }

    @Test func theAnswerNamesTheField() throws {
        #expect {
            try policy.check(try Password("short"), for: [], field: "newPassword")
        } throws: { error in
            let problem = error as? Problem
            return problem?.code == .weakPassword && problem?.errors.map(\.field) == ["newPassword"]
        }
    }

    @Test func nothingIsCutOff() throws {
        #expect(try Password(String(repeating: "x", count: 256)).text.count == 256)
        #expect(throws: Refusal.self) { try Password(String(repeating: "x", count: 257)) }
        #expect(throws: Refusal.self) { try Password("") }
        // One scalar that NFKC makes eighteen of.
        #expect(throws: Refusal.self) { try Password(String(repeating: "\u{FDFA}", count: 20)) }
    }

    @Test func doesNotShowItself() throws {
        let password = try Password("tulpenzwiebel")
        #expect(!"\(password)".contains("tulpen"))
        #expect(!String(reflecting: password).contains("tulpen"))
        var dumped = ""
        dump(password, to: &dumped)
        #expect(!dumped.contains("tulpen"))
    }
}

@Suite struct PasswordHashTests {
    static let text =
        "$argon2id$v=19$m=19456,t=2,p=1,keyid=cDE$AQIDBAUGBwgJCgsMDQ4PEA$AQIDBAUGBwgJCgsMDQ4PEAECAwQFBgcICQoLDA0ODxA"

    @Test func readsWhatItWrites() throws {
        let hash = try #require(PasswordHash(Self.text))
        #expect(hash.phcString == Self.text)
        #expect(hash.pepperID == "p1")
        #expect(hash.parameters == .current)
        #expect(hash.salt == Array(1...16))
        #expect(hash.hash.count == 32)
        let plain = Self.text.replacingOccurrences(of: ",keyid=cDE", with: "")
        #expect(PasswordHash(plain)?.phcString == plain)
    }

    @Test(
        arguments: [
            ("argon2id", "argon2i"), ("v=19", "v=16"), ("v=19$", ""), ("m=19456", "m=4000000000"),
            ("m=19456", "m=131073"), ("m=19456", "m=7"), ("m=19456", "m=-1"), ("t=2", "t=11"), ("t=2", "t=0"),
            ("p=1", "p=0"), ("p=1", "p=5"), ("p=1", "p=1,p=1"), ("p=1", "p=1,data=AA"), ("p=1", "p"), ("m=19456,", ""),
            ("keyid=cDE", "keyid=cDE="), ("AQIDBAUGBwgJCgsMDQ4PEA$", "$"), ("AQIDBAUGBwgJCgsMDQ4PEA$", "AQID$"),
            ("ODxA", "ODx"), ("ODxA", "ODxA$"), ("$argon2id", "x$argon2id"), ("AQID", "AQ ID"),
        ])
    func refusesWhatItCannotTrust(part: String, replacement: String) {
        #expect(PasswordHash(Self.text.replacingOccurrences(of: part, with: replacement)) == nil)
    }

    /// A vector from the reference implementation's own tests (`src/test.c`).
    @Test func agreesWithTheReferenceImplementation() {
        let parameters = Argon2Parameters(memory: 65536, iterations: 2, parallelism: 1)
        let hash = Argon2.hash(Array("password".utf8), salt: Array("somesalt".utf8), parameters: parameters, length: 32)
        let hex = hash?.map { String(format: "%02x", $0) }.joined()
        #expect(hex == "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7")
    }
}

@Suite struct PasswordHasherTests {
    static let small = Argon2Parameters(memory: 64, iterations: 1, parallelism: 1)

    private static func ring(_ ids: String...) throws -> KeyRing {
        try KeyRing(
            ids.map { "\($0):\(Data(SHA256.hash(data: Data($0.utf8))).base64EncodedString())" }
                .joined(separator: "\n"))
    }

    private static func deadline() -> Deadline { .after(.seconds(60)) }

    @Test func verifiesWhatItHashed() async throws {
        let hasher = PasswordHasher(threads: 1, queue: 10, pepper: try Self.ring("p1"), parameters: Self.small)
        let password = try Password("tulpenzwiebel")
        let stored = try await hasher.hash(password, deadline: Self.deadline())
        #expect(stored.hasPrefix("$argon2id$v=19$m=64,t=1,p=1,keyid=cDE$"))
        #expect(try await hasher.verify(password, against: stored, deadline: Self.deadline()))
        #expect(try await !hasher.verify(try Password("tulpenzwiebe1"), against: stored, deadline: Self.deadline()))
        #expect(try await !hasher.verify(password, against: nil, deadline: Self.deadline()))
        #expect(try await !hasher.verify(password, against: "garbage", deadline: Self.deadline()))
        #expect(!hasher.isOutdated(stored))
        #expect(try await hasher.hash(password, deadline: Self.deadline()) != stored)
    }

    @Test func oneSpellingOfAPasswordIsEnough() async throws {
        let hasher = PasswordHasher(threads: 1, queue: 10, pepper: try Self.ring("p1"), parameters: Self.small)
        let stored = try await hasher.hash(try Password("cafe\u{301} ﬁn"), deadline: Self.deadline())
        #expect(try await hasher.verify(try Password("café fin"), against: stored, deadline: Self.deadline()))
    }

    @Test func peppersAreReplacedWithoutLosingAnybody() async throws {
        let password = try Password("tulpenzwiebel")
        let old = PasswordHasher(threads: 1, queue: 10, pepper: try Self.ring("p1"), parameters: Self.small)
        let stored = try await old.hash(password, deadline: Self.deadline())
        let both = PasswordHasher(threads: 1, queue: 10, pepper: try Self.ring("p2", "p1"), parameters: Self.small)
        #expect(try await both.verify(password, against: stored, deadline: Self.deadline()))
        #expect(both.isOutdated(stored))
        let new = PasswordHasher(threads: 1, queue: 10, pepper: try Self.ring("p2"), parameters: Self.small)
        #expect(try await !new.verify(password, against: stored, deadline: Self.deadline()))
        // A hash without a pepper came from elsewhere: it is good until it can be made anew.
        let salt = [UInt8](repeating: 7, count: 16)
        let bare = Argon2.hash(Array(password.text.utf8), salt: salt, parameters: Self.small, length: 32)
        let foreign = PasswordHash(parameters: Self.small, pepperID: nil, salt: salt, hash: try #require(bare))
            .phcString
        #expect(try await new.verify(password, against: foreign, deadline: Self.deadline()))
        #expect(new.isOutdated(foreign))
    }

    @Test func refusesWhatDoesNotFitIntoTheQueue() async throws {
        let hasher = PasswordHasher(threads: 1, queue: 3, pepper: try Self.ring("p1"))
        let password = try Password("tulpenzwiebel")
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<40 {
                group.addTask { (try? await hasher.hash(password, deadline: Self.deadline())) != nil }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 }.count >= 4)
        #expect(outcomes.contains(false))
        // Room again once they are through.
        #expect(try await hasher.hash(password, deadline: Self.deadline()).hasPrefix("$argon2id$"))
    }

    @Test func doesNotWorkForThoseWhoHaveStoppedWaiting() async throws {
        let hasher = PasswordHasher(threads: 1, queue: 3, pepper: try Self.ring("p1"))
        await #expect(throws: Problem.self) {
            try await hasher.hash(try Password("tulpenzwiebel"), deadline: .after(.zero))
        }
    }
}

@Suite struct HashMemoryTests {
    @Test func isReusedAndGivenBack() throws {
        let memory = HashMemory()
        let block = try #require(memory.take(1 << 20))
        memory.giveBack(block, size: 1 << 20)
        #expect(memory.take(1 << 20) == block)
        memory.giveBack(block, size: 1 << 20)
        memory.trim(idleFor: .seconds(60))
        #expect(memory.take(1 << 20) == block)
        memory.giveBack(block, size: 1 << 20)
        memory.trim(idleFor: .zero)
        #expect(memory.isEmpty)
    }
}
