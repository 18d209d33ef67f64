public import Foundation
import GatehouseAccessTokens
import GatehouseServiceKit
public import GatehouseSettings

/// The file of the keys that sign access tokens. Commands change it, and the service reads it.
public struct SigningKeyFile: Sendable {
    public let path: String

    public init(path: String) { self.path = path }

    public var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// - Throws: `SigningKeysError`, also when other users of the system may read the file.
    public func read() throws(SigningKeysError) -> SigningKeys {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw SigningKeysError("\(path) cannot be read")
        }
        if let mode = SecretFile.openMode(path) {
            throw SigningKeysError("\(path) is open to everybody (mode \(mode))")
        }
        return try SigningKeys(text: text)
    }

    /// Reads the keys, changes them and writes them back. A reader sees the old file or the new one. If two changes
    /// overlap, the second waits for the first.
    ///
    /// - Throws: `SigningKeysError`, what `change` throws (then the file stays as it was), `CocoaError` when the file
    ///   cannot be written.
    public func change<Result>(_ change: (inout SigningKeys) throws -> Result) throws -> Result {
        // If the path is a symbolic link, its target is replaced.
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

/// Writes key files. A file is created with its final mode, so that other users can never open it in between.
enum KeyFile {
    /// Creates a file that only its owner may read.
    ///
    /// - Throws: `CocoaError`, also when the file already exists.
    static func create(_ path: String, with text: String) throws {
        try write(text, to: path, mode: 0o600) { _ in }
    }

    /// Replaces a file atomically. The new file gets the owner and mode of the old one, so that the service can still
    /// read it.
    ///
    /// - Parameter mode: for a file that does not exist yet.
    static func replace(_ path: String, with text: String, mode: mode_t = 0o600) throws {
        let new = "\(path).\(UUID().uuidString)"
        do {
            try write(text, to: new, mode: mode) { file in
                var old = stat()
                guard stat(path, &old) == 0 else { return }
                guard fchown(file, old.st_uid, old.st_gid) == 0, fchmod(file, old.st_mode & 0o777) == 0 else {
                    throw SigningKeysError("the owner and mode of \(path) cannot be kept")
                }
            }
            guard rename(new, path) == 0 else { throw SigningKeysError("\(path) cannot be replaced") }
        } catch {
            unlink(new)
            throw error
        }
        // A rename survives a crash only after the folder was synced.
        let folder = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        fsync(folder)
        close(folder)
    }

    private static func write(
        _ text: String, to path: String, mode: mode_t, prepare: (Int32) throws -> Void
    ) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else {
            throw CocoaError(
                errno == EEXIST ? .fileWriteFileExists : .fileWriteUnknown, userInfo: [NSFilePathErrorKey: path])
        }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        try prepare(file)
        try handle.write(contentsOf: Data(text.utf8))
        try handle.synchronize()
    }
}

/// The signing keys file: PEM blocks, each after a comment line with its state, which RFC 7468 §2 allows. In a plain
/// PEM file with one key, that key is active.
///
///     # active since 2026-11-20T12:00:00Z
///     -----BEGIN PRIVATE KEY-----
///     …
///     # retiring since 2026-11-20T12:00:00Z lifetime 3600
///     -----BEGIN PRIVATE KEY-----
extension SigningKeys {
    /// - Throws: `SigningKeysError`
    public init(text: String) throws(SigningKeysError) {
        var entries: [Entry] = []
        var mark = Self.unmarked
        var block: [Substring] = []
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("-----BEGIN") || !block.isEmpty {
                block.append(line)
                guard line.hasPrefix("-----END") else { continue }
                entries.append(try Self.entry(block, mark))
                block = []
                mark = Self.unmarked
            } else if let read = try Self.mark(line) {
                mark = read
            }
        }
        guard block.isEmpty else { throw SigningKeysError("a key ends in the middle") }
        try self.init(entries: entries, isForDevelopment: DevelopmentSecret.isMarked(file: text))
    }

    /// The file's text, with the private keys.
    public var text: String {
        entries.reduce(into: DevelopmentSecret.fileHead(isForDevelopment: isForDevelopment)) { text, entry in
            text += "# \(entry.label)\n" + entry.key.pem
        }
    }

    /// The public keys, for verifiers.
    ///
    /// - Throws: `AccessTokenError`
    func publicText() throws(AccessTokenError) -> String {
        var text = DevelopmentSecret.fileHead(isForDevelopment: isForDevelopment)
        for key in published { text += try key.pem }
        return text
    }

    private typealias Mark = (state: State, since: Date?, lifetime: Int?)
    private static let unmarked: Mark = (.active, nil, nil)

    private static func entry(_ block: [Substring], _ mark: Mark) throws(SigningKeysError) -> Entry {
        do {
            let key = try RSAPrivateKey(pem: block.joined(separator: "\n") + "\n")
            return Entry(key: key, state: mark.state, since: mark.since, lifetime: mark.lifetime)
        } catch {
            throw SigningKeysError("\(error)")
        }
    }

    /// Parses a comment that states the following key's state; `nil` for any other comment.
    private static func mark(_ line: Substring) throws(SigningKeysError) -> Mark? {
        let words = line.split(separator: " ")
        guard [2, 4, 6].contains(words.count), words[0] == "#", let state = State(rawValue: String(words[1])) else {
            return nil
        }
        guard words.count > 2, words[2] == "since" else { return (state, nil, nil) }
        guard let since = try? Date(String(words[3]), strategy: .iso8601) else {
            throw SigningKeysError("'\(words[3])' is not a time such as 2026-11-20T12:00:00Z")
        }
        guard words.count == 6, words[4] == "lifetime" else { return (state, since, nil) }
        guard let lifetime = Int(words[5]), lifetime >= 0 else {
            throw SigningKeysError("'\(words[5])' is not a number of seconds")
        }
        return (state, since, lifetime)
    }
}

extension SigningKeys.Entry {
    /// State, start and lifetime of its tokens: `retiring since 2026-11-20T12:00:00Z lifetime 3600`.
    public var label: String {
        state.rawValue + (since.map { " since " + $0.formatted(.iso8601) } ?? "")
            + (lifetime.map { " lifetime \($0)" } ?? "")
    }
}

/// The service's settings that the key commands use, from the environment and the file that `TOKENS_CONFIG_FILE` names.
public struct KeySettings: Sendable {
    public let signingKeyFile: String?
    public let refreshKeysFile: String?
    /// The maximum lifetime of an access token in seconds.
    public let accessTokenLifetime: Int

    /// - Parameter environment: the process' environment; another one in tests.
    /// - Throws: `SettingsError`
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(SettingsError) {
        let settings = Settings(service: TokensApplication.name, environment: environment)
        signingKeyFile = settings.optionalString("signingKeyFile")
        refreshKeysFile = settings.optionalString("refreshKeysFile")
        accessTokenLifetime = settings.accessTokenLifetime()
        try settings.finish(allowingUnknown: true)
    }
}

extension Settings {
    /// The maximum lifetime of an access token in seconds.
    func accessTokenLifetime() -> Int {
        int(
            "accessTokenLifetime", default: 3600, in: 1...Int(Int32.max), unit: "seconds",
            "longest lifetime of an access token; each lives up to 5 % less")
    }
}
