import Crypto
import Dispatch
import Foundation
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import MetricsTestKit
import Sealing
import Synchronization
import TestKit
import Testing

@testable import IdentityCredentials

@Suite struct PasswordHasherTests {
    static let small = Argon2Parameters(memory: 64, iterations: 1, parallelism: 1)

    private static func ring(_ ids: String...) throws -> KeyRing {
        try KeyRing(
            ids.map { "\($0):\(Data(SHA256.hash(data: Data($0.utf8))).base64EncodedString())" }
                .joined(separator: "\n"))
    }

    @Test func verifiesWhatItHashed() async throws {
        let hasher = PasswordHasher(threads: 1, queue: 10, pepper: try Self.ring("p1"), parameters: Self.small)
        let password = try Password("tulpenzwiebel")
        let stored = try await hasher.hash(password)
        #expect(stored.hasPrefix("$argon2id$v=19$m=64,t=1,p=1,keyid=cDE$"))
        #expect(try await hasher.verify(password, against: stored))
        #expect(try await !hasher.verify(try Password("tulpenzwiebe1"), against: stored))
        #expect(try await !hasher.verify(password, against: nil))
        #expect(try await !hasher.verify(password, against: "garbage"))
        #expect(!hasher.isOutdated(stored))
        #expect(try await hasher.hash(password) != stored)
    }

    @Test func oneSpellingOfAPasswordIsEnough() async throws {
        let hasher = PasswordHasher(threads: 1, queue: 10, pepper: try Self.ring("p1"), parameters: Self.small)
        let stored = try await hasher.hash(try Password("cafe\u{301} ﬁn"))
        #expect(try await hasher.verify(try Password("café fin"), against: stored))
    }

    @Test func peppersAreReplacedWithoutLosingAnybody() async throws {
        let password = try Password("tulpenzwiebel")
        let old = PasswordHasher(threads: 1, queue: 10, pepper: try Self.ring("p1"), parameters: Self.small)
        let stored = try await old.hash(password)
        let both = PasswordHasher(threads: 1, queue: 10, pepper: try Self.ring("p2", "p1"), parameters: Self.small)
        #expect(try await both.verify(password, against: stored))
        #expect(both.isOutdated(stored))
        let new = PasswordHasher(threads: 1, queue: 10, pepper: try Self.ring("p2"), parameters: Self.small)
        // A replica without the key must not call the right password wrong.
        let error = await #expect(throws: UnknownPepper.self) {
            try await new.verify(password, against: stored)
        }
        #expect(error?.id == "p1" && error?.problem.code == .unavailable)
        // A hash without a pepper came from elsewhere: it is good until it can be made anew.
        let salt = [UInt8](repeating: 7, count: 16)
        let bare = Argon2.hash(Array(password.text.utf8), salt: salt, parameters: Self.small, length: 32)
        let foreign = PasswordHash(parameters: Self.small, pepperID: nil, salt: salt, hash: try #require(bare))
            .phcString
        #expect(try await new.verify(password, against: foreign))
        #expect(new.isOutdated(foreign))
    }

    @Test func refusesWhatDoesNotFitIntoTheQueue() async throws {
        let metrics = TestMetrics()
        let hasher = PasswordHasher(threads: 1, queue: 3, pepper: try Self.ring("p1"), metrics: metrics)
        let password = try Password("tulpenzwiebel")
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<40 {
                group.addTask { (try? await hasher.hash(password)) != nil }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 }.count >= 4)
        try hasher.requireRoom()
        #expect(outcomes.contains(false))
        let waiting = try metrics.expectMeter("identity_password_hashes_waiting")
        #expect(waiting.values.max() == 3 && waiting.lastValue == 0)
        // Room again once they are through.
        #expect(try await hasher.hash(password).hasPrefix("$argon2id$"))
    }

    @Test func aFullQueueIsSeenBeforehand() async throws {
        let large = Argon2Parameters(memory: 65_536, iterations: 10, parallelism: 1)
        let hasher = PasswordHasher(threads: 1, queue: 1, pepper: try Self.ring("p1"), parameters: large)
        let password = try Password("tulpenzwiebel")
        try hasher.requireRoom()
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<2 { group.addTask { try await hasher.hash(password) } }
            try await eventually("the queue is full") {
                do throws(Problem) { try hasher.requireRoom() } catch { return error.code == .unavailable }
                return false
            }
            try await group.waitForAll()
        }
        try hasher.requireRoom()
    }

    /// The time of a hash is expected to be 50 ms, until one has been measured.
    @Test func whatWouldBeLateIsRefusedAtOnceOrWhenItIsCertain() async throws {
        let start = ContinuousClock.now
        let passed = Mutex(Duration.zero)
        let gate = DispatchSemaphore(value: 0)
        let metrics = TestMetrics()
        let hasher = PasswordHasher(
            threads: 1, queue: 10, pepper: try Self.ring("p1"), parameters: Self.small, metrics: metrics,
            now: { start + passed.withLock(\.self) })
        @Sendable func isRefused(within milliseconds: Int) async -> Bool {
            let outcome = await Deadline.with(Deadline(start + .milliseconds(milliseconds))) {
                Result { try hasher.requireRoom() }
            }
            return (try? outcome.get()) == nil
        }
        #expect(await !isRefused(within: 1))
        let first = Task {
            try await hasher.run { () -> Int? in
                gate.wait()
                return 1
            }
        }
        try await eventually("the thread is busy") { await isRefused(within: 100) }
        #expect(await !isRefused(within: 1000))
        let second = Task {
            try await Deadline.with(Deadline(start + .seconds(1))) {
                try await hasher.hash(try Password("tulpenzwiebel"))
            }
        }
        let waiting = try metrics.expectMeter("identity_password_hashes_waiting")
        try await eventually("it waits") { waiting.lastValue == 1 }
        // The first takes long: there is no more time for the second.
        passed.withLock { $0 = .milliseconds(960) }
        let error = await #expect(throws: Problem.self) { try await second.value }
        #expect(error?.code == .unavailable)
        gate.signal()
        #expect(try await first.value == 1)
        // The thread is free, however long that took.
        #expect(await !isRefused(within: 961))
    }

    @Test func doesNotWorkForThoseWhoHaveStoppedWaiting() async throws {
        let hasher = PasswordHasher(threads: 1, queue: 3, pepper: try Self.ring("p1"))
        await #expect(throws: Problem.self) {
            try await Deadline.with(.after(.zero)) { try await hasher.hash(try Password("tulpenzwiebel")) }
        }
    }
}
