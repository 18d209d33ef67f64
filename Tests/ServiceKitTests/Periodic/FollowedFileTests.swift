import Foundation
import GatehouseServiceKit
import Synchronization
import TestKit
import Testing

@Suite struct FollowedFileTests {
    @Test func isReadOnceForEachChange() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "file").path
        let link = folder.appending(path: "link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "file")

        let texts = Mutex<[String]>([])
        let following = Task {
            await FollowedFile(path: link, pause: .milliseconds(1)).follow {
                texts.withLock { $0.append((try? String(contentsOfFile: path, encoding: .utf8)) ?? "-") }
            }
        }
        defer { following.cancel() }
        func write(_ text: String, to path: String) throws {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        for (number, text) in ["one", "two", "end"].enumerated() {
            try write(text, to: path)
            try await eventually("it is read") { texts.withLock { $0.count } == number + 1 }
        }
        // As a mounted secret changes: the link is pointed elsewhere.
        try write("other", to: folder.appending(path: "other").path)
        try FileManager.default.createSymbolicLink(atPath: link + ".new", withDestinationPath: "other")
        try #require(rename(link + ".new", link) == 0)
        try await eventually("the link is followed") { texts.withLock { $0.count } == 4 }
        // Gone is no change; back again is one.
        try FileManager.default.removeItem(atPath: link)
        try write("back", to: link)
        try await eventually("it is read") { texts.withLock { $0.count } == 5 }
        #expect(texts.withLock { $0 } == ["one", "two", "end", "end", "end"])
    }

    /// `chmod` and `chown` change neither what stands in a file nor when that was written.
    @Test func isReadAgainWhenItsModeChanges() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "text".write(toFile: path, atomically: true, encoding: .utf8)
        let reads = Mutex(0)
        let following = Task {
            await FollowedFile(path: path, pause: .milliseconds(1)).follow { reads.withLock { $0 += 1 } }
        }
        defer { following.cancel() }
        try await eventually("it is read") { reads.withLock { $0 } == 1 }
        try #require(chmod(path, 0o600) == 0)
        try await eventually("it is read again") { reads.withLock { $0 } == 2 }
    }

    /// What was in the way (no file descriptor left, say) may go without a trace in the file.
    @Test func whatCouldNotBeReadIsReadAtTheNextLook() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "text".write(toFile: path, atomically: true, encoding: .utf8)
        let reads = Mutex(0)
        let following = Task {
            await FollowedFile(path: path, pause: .milliseconds(1)).follow {
                guard
                    reads.withLock({ reads in
                        reads += 1
                        return reads
                    }) >= 3
                else { throw CocoaError(.fileReadUnknown) }
            }
        }
        defer { following.cancel() }
        try await eventually("it is read a third time") { reads.withLock { $0 } == 3 }
        // Then it is known.
        try "other".write(toFile: path, atomically: true, encoding: .utf8)
        try await eventually("it is read once more") { reads.withLock { $0 } > 3 }
    }
}
