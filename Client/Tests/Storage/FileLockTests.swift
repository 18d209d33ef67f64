import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A file store's lock") struct FileLockTests {
    let folder: TemporaryFolder
    var file: URL { folder.file("session.json") }

    init() throws { folder = try TemporaryFolder() }

    @Test("Stores of one file take turns") func turns() async throws {
        let file = file
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let store = FileTokenStore(file: file)
                    for _ in 0..<10 {
                        try await store.withExclusiveAccess {
                            // Two at once would lose one.
                            let count = try await store.load().flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
                            try await store.save(Data("\(count + 1)".utf8))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await FileTokenStore(file: file).load() == Data("80".utf8))
    }

    @Test("After twenty seconds a caller continues without the lock") func timeout() async throws {
        let clock = ManualClock()
        let begun = clock.monotonic
        let (first, second) = (FileTokenStore(file: file), FileTokenStore(file: file, clock: clock))
        let answer = try await first.withExclusiveAccess {
            try await second.withExclusiveAccess { "went on" }
        }
        #expect(answer == "went on")
        let waited = clock.monotonic - begun
        #expect(waited >= .seconds(20) && waited < .seconds(21))
    }

    @Test("A cancelled caller stops waiting, and does not run its work") func cancelled() async throws {
        let file = file
        let (waits, wait) = AsyncStream.makeStream(of: Void.self)
        let result = try await FileTokenStore(file: file).withExclusiveAccess {
            let second = Task {
                // Only the cancellation ends its sleep.
                try await FileTokenStore(file: file, clock: EndlessSleepClock { wait.finish() }).withExclusiveAccess {
                    "went on"
                }
            }
            for await _ in waits {}
            second.cancel()
            return await second.result
        }
        #expect(throws: CancellationError.self) { try result.get() }
    }

    @Test("It is free again when what it was for has failed") func failure() async throws {
        struct Failure: Error {}
        let store = FileTokenStore(file: file)
        await #expect(throws: Failure.self) { try await store.withExclusiveAccess { throw Failure() } }
        let lock = FileLock(file: PrivateFile(path: file.path + ".lock"), clock: ManualClock())
        let isTaken = try await lock.take(lock.open())
        #expect(isTaken)
    }

    @Test("When the system suspends the process nevertheless, the lock is free, and not taken again") func suspended()
        async throws
    {
        let activity = Activity()
        let lock = FileLock(
            file: PrivateFile(path: file.path + ".lock"), clock: ManualClock(), keepAwake: activity.begin)
        let other = FileLock(file: PrivateFile(path: file.path + ".lock"), clock: ManualClock())
        try await lock.withLock {
            let isTakenBefore = try await other.take(other.open())
            activity.expire()
            let isTakenAfter = try await other.take(other.open())
            #expect(!isTakenBefore && isTakenAfter && !activity.hasEnded)
        }
        #expect(activity.hasEnded)

        // Suspended while it waits.
        let hold = try other.open()
        try await other.take(hold)
        activity.expiresAtOnce()
        try await lock.withLock {
            hold.release()
            let isTaken = try await other.take(other.open())
            #expect(isTaken)
        }
    }

    @Test("Where there can be none it goes on without, and a save says why") func none() async throws {
        try Data().write(to: folder.file("config"))
        let store = FileTokenStore(file: folder.file("config/session.json"))
        let error = await #expect(throws: TokenStoreError.self) {
            try await store.withExclusiveAccess { try await store.save(Data("bytes".utf8)) }
        }
        #expect(error?.reason.contains("config") == true)
    }
}

/// The system's permission to go on running.
private final class Activity: Sendable {
    private struct State {
        var expire: (@Sendable () -> Void)?
        var hasEnded = false
        var expiresAtOnce = false
    }

    private let state = Mutex(State())

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    func begin(_ expire: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        if state.withLock({ $0.expiresAtOnce }) { expire() }
        state.withLock { $0.expire = expire }
        return { self.state.withLock { $0.hasEnded = true } }
    }

    func expire() { state.withLock { $0.expire }?() }

    func expiresAtOnce() { state.withLock { $0.expiresAtOnce = true } }
}

/// A caller that sleeps wakes when it is cancelled.
private struct EndlessSleepClock: SessionClock {
    let sleeps: @Sendable () -> Void
    var monotonic: Duration { .zero }
    var wall: Date { Date(timeIntervalSince1970: 0) }

    func sleep(for duration: Duration) async throws {
        sleeps()
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        for await _ in never {}
        withExtendedLifetime(end) {}
        throw CancellationError()
    }
}
