import Foundation
import Testing

@testable import GatehouseClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What only a process of its own can show: it dies, its disk is full, it is another user, it waits for another one.
@Suite("A file as a store, among processes") struct FileTokenStoreProcessTests {
    let folder: TemporaryFolder
    var path: String { folder.file("session.json").path }

    init() throws { folder = try TemporaryFolder() }

    @Test("A process that is killed while it saves leaves one of the two", arguments: 0..<4)
    func killed(round: Int) async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = FileTokenStore(file: URL(fileURLWithPath: path))
            for letter in ["a", "b"] as [Character] {
                try await store.save(FileTokenStoreProcessTests.content(letter))
            }
            Thread.detachNewThread {
                usleep(UInt32.random(in: 0...3000))
                kill(getpid(), SIGKILL)
            }
            while true {
                for letter in ["a", "b"] as [Character] {
                    try await store.save(FileTokenStoreProcessTests.content(letter))
                }
            }
        }
        let store = FileTokenStore(file: URL(fileURLWithPath: path))
        let stored = try await store.load()
        #expect(stored == Self.content("a") || stored == Self.content("b"))
        try await store.save(Data("next".utf8))
        #expect(try await store.load() == Data("next".utf8))
    }

    @Test("A disk that is full leaves what was there") func full() async throws {
        try await FileTokenStore(file: URL(fileURLWithPath: path)).save(Data("old".utf8))
        await #expect(processExitsWith: .success) { [path = path as String] in
            // A limit of this process alone; the write that passes it is cut off first and then refused.
            signal(SIGXFSZ, SIG_IGN)
            var usual = rlimit()
            precondition(getrlimit(FileTokenStoreProcessTests.fileSize, &usual) == 0)
            var limit = rlimit(rlim_cur: 1000, rlim_max: usual.rlim_max)
            precondition(setrlimit(FileTokenStoreProcessTests.fileSize, &limit) == 0)
            let store = FileTokenStore(file: URL(fileURLWithPath: path))
            do throws(TokenStoreError) {
                try await store.save(FileTokenStoreProcessTests.content("n"))
                preconditionFailure("it was saved")
            } catch {
                precondition(error.code == .failed && error.reason.contains("errno \(EFBIG)"))
            }
            let stored = try await store.load()
            precondition(stored == Data("old".utf8))
            // What a run that measures coverage writes at the end would be cut off as well.
            precondition(setrlimit(FileTokenStoreProcessTests.fileSize, &usual) == 0)
        }
        #expect(try folder.names == ["session.json"])
    }

    @Test("Another user's file and folder are refused", .enabled(if: geteuid() == 0, "only root can be two users"))
    func anotherUser() async throws {
        try await FileTokenStore(file: URL(fileURLWithPath: path)).save(Data("root's".utf8))
        // Open to all, so that only the store's own rules are in the way.
        try TemporaryFolder.setMode(0o755, of: folder.url)
        await #expect(processExitsWith: .success) { [path = path as String] in
            precondition(setgid(65534) == 0 && setuid(65534) == 0)
            let store = FileTokenStore(file: URL(fileURLWithPath: path))
            for call in [{ _ = try await store.load() }, { try await store.save(Data("others".utf8)) }]
                as [@Sendable () async throws -> Void]
            {
                do {
                    try await call()
                    preconditionFailure("it was not refused")
                } catch let error as TokenStoreError {
                    precondition(error.code == .failed && error.reason.contains("errno \(EACCES)"))
                }
            }
        }
        #expect(try await FileTokenStore(file: URL(fileURLWithPath: path)).load() == Data("root's".utf8))
        try #require(chown(path, 65534, 65534) == 0)
        let error = await #expect(throws: TokenStoreError.self) {
            try await FileTokenStore(file: URL(fileURLWithPath: path)).load()
        }
        #expect(error?.reason.hasSuffix("belongs to another user (65534)") == true)
    }

    @Test("Processes take turns") func turns() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [path = path as String] in
                        let store = FileTokenStore(file: URL(fileURLWithPath: path))
                        for _ in 0..<25 {
                            try await store.withExclusiveAccess {
                                let stored = try await store.load().map { String(decoding: $0, as: UTF8.self) }
                                try await store.save(Data("\((stored.flatMap { Int($0) } ?? 0) + 1)".utf8))
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await FileTokenStore(file: URL(fileURLWithPath: path)).load() == Data("75".utf8))
    }

    @Test("A process that dies with the lock does not keep it") func diesWithLock() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            try await FileTokenStore(file: URL(fileURLWithPath: path)).withExclusiveAccess {
                _ = kill(getpid(), SIGKILL)
            }
        }
        let clock = ManualClock()
        let begun = clock.monotonic
        let lock = FileLock(file: PrivateFile(path: path + ".lock"), clock: clock)
        let isTaken = try await lock.take(lock.open())
        #expect(isTaken)
        #expect(clock.monotonic == begun)
    }

    #if canImport(Glibc)
        private static let fileSize = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    #else
        private static let fileSize = RLIMIT_FSIZE
    #endif

    /// More than a page.
    static func content(_ letter: Character) -> Data { Data(String(repeating: letter, count: 9000).utf8) }
}
