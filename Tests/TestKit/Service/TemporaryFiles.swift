import Foundation

/// Files that are removed after the test.
public struct TemporaryFiles: Sendable {
    private let folder: URL

    public init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// Writes a file that only its owner may read.
    ///
    /// - Returns: its path.
    public func write(_ text: String) throws -> String {
        let file = folder.appending(path: UUID().uuidString)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        return file.path
    }

    public func remove() {
        try? FileManager.default.removeItem(at: folder)
    }
}
