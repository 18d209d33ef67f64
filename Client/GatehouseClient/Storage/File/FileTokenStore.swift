import Dispatch
public import Foundation

/// Keeps a session in a file that only its user can read: for command-line tools and other programs without a Keychain.
///
/// - The file has mode 0600, the folder 0700 where this store makes it. A file that others may read is made private when
///   it is met; one that others may write, or that is another user's, is refused, and so is a folder that others may
///   write: what they contain may not be ours.
/// - A save is atomic: a new file, written through to the disk, takes the old one's place. A process that dies
///   meanwhile, or a disk that is full, leaves the old one.
/// - Any number of processes may share the file. They take turns by a lock on a second file beside it (`NAME.lock`),
///   which is never removed.
///
/// The bytes are not encrypted: whoever can act as this user can read them. On Apple's systems prefer the Keychain.
public struct FileTokenStore: TokenStore {
    let file: PrivateFile
    let lock: FileLock
    /// Files can be slow, and none of Swift's shared threads is to wait for them.
    private let queue = DispatchQueue(label: "gatehouse.file-token-store", qos: .userInitiated)

    /// - Parameter file: for example `~/.config/my-tool/session.json`. Its folder is made when something is saved.
    public init(file: URL) {
        self.init(file: file, clock: SystemClock())
    }

    init(file: URL, clock: any SessionClock) {
        self.file = PrivateFile(path: file.standardizedFileURL.path)
        lock = FileLock(file: PrivateFile(path: self.file.path + ".lock"), clock: clock)
    }

    public func load() async throws(TokenStoreError) -> Data? {
        try await apart { [file] () throws(TokenStoreError) in try file.read() }
    }

    public func save(_ data: Data) async throws(TokenStoreError) {
        try await apart { [file] () throws(TokenStoreError) in try file.replace(with: data) }
    }

    /// Removes what is there, for an app that begins anew; no error where there is nothing. The server is not told.
    public func delete() async throws(TokenStoreError) {
        try await apart { [file] () throws(TokenStoreError) in try file.remove() }
    }

    /// Waits until no other process has the lock, for 20 seconds at most. Then, and where there can be no lock, `body`
    /// runs without it.
    ///
    /// - Throws: `CancellationError` where the task is cancelled while it waits, and what `body` throws.
    public func withExclusiveAccess<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        // What cannot be opened here cannot be saved either, and then the error says why.
        let opened = try? await apart { [lock] () throws(TokenStoreError) in try lock.open() }
        defer { if let opened { FileLock.close(opened) } }
        if let opened { try await lock.take(opened) }
        return try await body()
    }

    private func apart<Value: Sendable>(
        _ work: @escaping @Sendable () throws(TokenStoreError) -> Value
    ) async throws(TokenStoreError) -> Value {
        let result: Result<Value, TokenStoreError> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(TokenStoreError) in try work() })
            }
        }
        return try result.get()
    }
}
