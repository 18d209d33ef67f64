import Foundation
import Testing

@testable import GatehouseClient

@Suite("The id of an installation")
struct InstallationIDTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var id: InstallationID { InstallationID(file: folder.file("app/installation")) }

    @Test("It stays, and another installation has another one")
    func stays() throws {
        let first = try #require(id.read())
        #expect(UUID(uuidString: first) != nil)
        #expect(id.read() == first)
        // The app's folder is deleted with the app.
        try FileManager.default.removeItem(at: folder.file("app"))
        #expect(try #require(id.read()) != first)
    }

    @Test("A damaged one is replaced")
    func damaged() throws {
        _ = id.read()
        try Data("x".utf8).write(to: id.file)
        let new = try #require(id.read())
        #expect(UUID(uuidString: new) != nil && id.read() == new)
    }

    @Test("Without one that can be read or kept there is none")
    func unreadable() throws {
        // A folder in the place of the file: neither a file, nor a missing one.
        try FileManager.default.createDirectory(at: id.file, withIntermediateDirectories: true)
        #expect(id.read() == nil)
        try FileManager.default.removeItem(at: folder.file("app"))
        try Data().write(to: folder.file("app"))
        #expect(id.read() == nil)
    }
}
