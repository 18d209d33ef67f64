import Foundation
import Testing

@testable import GatehouseClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("A file as a store") struct FileTokenStoreTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("Saved bytes can be read by the next store, until they are deleted") func roundTrip() async throws {
        let file = folder.file("session.json")
        #expect(try await FileTokenStore(file: file).load() == nil)
        try await FileTokenStore(file: file).save(Data("first".utf8))
        try await FileTokenStore(file: file).save(Data("second, longer".utf8))
        #expect(try await FileTokenStore(file: file).load() == Data("second, longer".utf8))
        try await FileTokenStore(file: file).save(Data())
        #expect(try await FileTokenStore(file: file).load() == Data())
        try await FileTokenStore(file: file).delete()
        try await FileTokenStore(file: file).delete()
        #expect(try await FileTokenStore(file: file).load() == nil)
        #expect(try folder.names == [])
    }

    @Test("File, lock and the folders that it makes are its user's alone") func modes() async throws {
        let made = folder.file("config/gatehouse")
        let file = made.appendingPathComponent("session.json")
        let store = FileTokenStore(file: file)
        #expect(try await store.load() == nil)
        try await store.delete()
        #expect(try folder.names == [])
        try await store.withExclusiveAccess { try await store.save(Data("bytes".utf8)) }
        #expect(try TemporaryFolder.mode(file) == 0o600)
        #expect(try TemporaryFolder.mode(made.appendingPathComponent("session.json.lock")) == 0o600)
        #expect(try TemporaryFolder.mode(made) == 0o700)
        #expect(try TemporaryFolder.mode(made.deletingLastPathComponent()) == 0o700)
    }

    @Test("A folder that is there keeps its mode") func existingFolder() async throws {
        try TemporaryFolder.setMode(0o755, of: folder.url)
        try await FileTokenStore(file: folder.file("session.json")).save(Data("bytes".utf8))
        #expect(try TemporaryFolder.mode(folder.url) == 0o755)
    }

    @Test("A file that others may read is made private", arguments: [0o644, 0o640, 0o604, 0o755])
    func readable(mode: Int) async throws {
        let file = folder.file("session.json")
        try Data("bytes".utf8).write(to: file)
        try TemporaryFolder.setMode(mode, of: file)
        #expect(try await FileTokenStore(file: file).load() == Data("bytes".utf8))
        #expect(try TemporaryFolder.mode(file) == 0o600)
    }

    @Test("A file that others may write is refused, and stays", arguments: [0o622, 0o620, 0o602, 0o666])
    func writable(mode: Int) async throws {
        let file = folder.file("session.json")
        try Data("theirs".utf8).write(to: file)
        try TemporaryFolder.setMode(mode, of: file)
        let error = await #expect(throws: TokenStoreError.self) { try await FileTokenStore(file: file).load() }
        #expect(error?.code == .failed)
        #expect(error?.reason.contains("others may write to") == true)
        #expect(try Data(contentsOf: file) == Data("theirs".utf8))
    }

    @Test("A folder that others may write to is refused", arguments: [0o770, 0o707, 0o1777])
    func writableFolder(mode: Int) async throws {
        let store = FileTokenStore(file: folder.file("session.json"))
        try await store.save(Data("bytes".utf8))
        try TemporaryFolder.setMode(mode, of: folder.url)
        let read = await #expect(throws: TokenStoreError.self) { try await store.load() }
        #expect(read?.reason.contains("chmod go-w") == true)
        _ = await #expect(throws: TokenStoreError.self) { try await store.save(Data("others".utf8)) }
        _ = await #expect(throws: TokenStoreError.self) { try await store.delete() }
    }

    @Test("A folder in its place") func directory() async throws {
        let file = folder.file("session.json")
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        let store = FileTokenStore(file: file)
        let read = await #expect(throws: TokenStoreError.self) { try await store.load() }
        #expect(read?.reason.hasSuffix("is not a regular file") == true)
        let write = await #expect(throws: TokenStoreError.self) { try await store.save(Data("bytes".utf8)) }
        #expect(write?.reason.contains("errno \(EISDIR)") == true)
        #expect(try folder.names == ["session.json"])
    }

    @Test("The store does not wait for a pipe in the file's place") func pipe() async throws {
        let file = folder.file("session.json")
        try #require(mkfifo(file.path, 0o600) == 0)
        let error = await #expect(throws: TokenStoreError.self) { try await FileTokenStore(file: file).load() }
        #expect(error?.reason.hasSuffix("is not a regular file") == true)
    }

    @Test("A link in its place is not followed") func link() async throws {
        let file = folder.file("session.json")
        try Data("elsewhere".utf8).write(to: folder.file("other"))
        try FileManager.default.createSymbolicLink(at: file, withDestinationURL: folder.file("other"))
        let store = FileTokenStore(file: file)
        let error = await #expect(throws: TokenStoreError.self) { try await store.load() }
        #expect(error?.reason.contains("errno \(ELOOP)") == true)
        try await store.save(Data("ours".utf8))
        #expect(try await store.load() == Data("ours".utf8))
        #expect(try Data(contentsOf: folder.file("other")) == Data("elsewhere".utf8))
    }

    @Test("A file where a folder has to be is an error, not an empty store") func noFolder() async throws {
        try Data().write(to: folder.file("config"))
        let store = FileTokenStore(file: folder.file("config/session.json"))
        for call in [{ _ = try await store.load() }, { try await store.save(Data()) }, { try await store.delete() }]
            as [@Sendable () async throws -> Void]
        {
            let error = await #expect(throws: TokenStoreError.self) { try await call() }
            #expect(error?.code == .failed)
        }
    }

    @Test("A file that is too large is no session of ours") func large() async throws {
        let file = folder.file("session.json")
        try Data(count: PrivateFile.largest + 1).write(to: file)
        try TemporaryFolder.setMode(0o600, of: file)
        let error = await #expect(throws: TokenStoreError.self) { try await FileTokenStore(file: file).load() }
        #expect(error?.code == .corrupt)
    }

    @Test("A save that cannot end leaves what was there") func failedSave() async throws {
        let file = folder.file(String(repeating: "n", count: 240))
        let store = FileTokenStore(file: file)
        try Data("old".utf8).write(to: file)
        try TemporaryFolder.setMode(0o600, of: file)
        // The new file's name is longer than a name can be.
        let error = await #expect(throws: TokenStoreError.self) { try await store.save(Data("new".utf8)) }
        #expect(error?.reason.contains("errno \(ENAMETOOLONG)") == true)
        #expect(try await store.load() == Data("old".utf8))
    }

    @Test("Temporary files of a dead process are removed, and those of a writing process stay")
    func leftovers() async throws {
        let (old, young) = (folder.file(".session.json.new-1"), folder.file(".session.json.new-2"))
        let other = folder.file(".other.json.new-1")
        for file in [old, young, other] { try Data("token".utf8).write(to: file) }
        for file in [old, other] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -3600)], ofItemAtPath: file.path)
        }
        try await FileTokenStore(file: folder.file("session.json")).save(Data("bytes".utf8))
        #expect(try folder.names == [".other.json.new-1", ".session.json.new-2", "session.json"])
    }
}
