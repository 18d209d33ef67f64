import Foundation

/// The file that holds the keys which sign access tokens, as commands change it and the service reads it.
public struct SigningKeyFile: Sendable {
    public let path: String

    public init(path: String) { self.path = path }

    public var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// - Throws: `SigningKeysError`
    public func read() throws(SigningKeysError) -> SigningKeys {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw SigningKeysError("\(path) cannot be read")
        }
        return try SigningKeys(text: text)
    }

    /// Reads the keys, changes them, and puts the changed ones in their place: whoever reads meanwhile sees the old
    /// ones or the new ones. Of two changes at a time the second waits.
    ///
    /// - Throws: `SigningKeysError`, what `change` throws, `CocoaError` when the file cannot be written.
    public func change<Result>(_ change: (inout SigningKeys) throws -> Result) throws -> Result {
        let folder = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw SigningKeysError("the folder of \(path) cannot be opened") }
        // The lock goes with the descriptor.
        defer { close(folder) }
        flock(folder, LOCK_EX)
        var keys = try read()
        let result = try change(&keys)
        let new = "\(path).\(UUID().uuidString)"
        try KeyGenerator.write(keys.text, to: new)
        guard rename(new, path) == 0 else {
            unlink(new)
            throw SigningKeysError("\(path) cannot be replaced")
        }
        return result
    }
}
