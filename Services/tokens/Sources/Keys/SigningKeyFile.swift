import Foundation
import ServiceKit
import Settings

/// The file that holds the keys which sign access tokens, as commands change it and the service reads it.
public struct SigningKeyFile: Sendable {
    public let path: String

    public init(path: String) { self.path = path }

    public var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// - Throws: `SigningKeysError`, also when the file is open to everybody.
    public func read() throws(SigningKeysError) -> SigningKeys {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw SigningKeysError("\(path) cannot be read")
        }
        if let mode = SecretFile.openMode(path) {
            throw SigningKeysError("\(path) is open to everybody (mode \(mode))")
        }
        return try SigningKeys(text: text)
    }

    /// Reads the keys, changes them and writes them back. A reader sees the old file or the new one, and of two changes
    /// at the same time the second waits for the first.
    ///
    /// - Throws: `SigningKeysError`, what `change` throws (then the file stays as it was), `CocoaError` when the file
    ///   cannot be written.
    public func change<Result>(_ change: (inout SigningKeys) throws -> Result) throws -> Result {
        // If the path is a link, the file that it leads to is replaced.
        let file = URL(filePath: path).resolvingSymlinksInPath()
        let folder = open(file.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw SigningKeysError("the folder of \(path) cannot be opened") }
        // Closing the descriptor releases the lock.
        defer { close(folder) }
        while flock(folder, LOCK_EX) != 0 {
            guard errno == EINTR else { throw SigningKeysError("the folder of \(path) cannot be locked") }
        }
        var keys = try read()
        let result = try change(&keys)
        try KeyFile.replace(file.path, with: keys.text)
        return result
    }
}
