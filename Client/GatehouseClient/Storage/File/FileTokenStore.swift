import Dispatch
public import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Keeps a session in a file that only its user can read: for command-line tools and other programs without a Keychain.
///
/// - The file has mode 0600. A folder that this store creates has mode 0700. If other users may read the file, the
///   store makes it private. If other users may write the file or its folder, or another user owns it, the store
///   refuses it: its content may be forged.
/// - A save is atomic: the store writes a new file, flushes it to the disk and renames it over the old one. If the
///   process dies meanwhile or the disk is full, the old file remains.
/// - Any number of processes may share the file. They lock a second file beside it (`NAME.lock`), which is never
///   removed.
///
/// The bytes are not encrypted: any process of this user can read them. On Apple's systems prefer the Keychain.
public struct FileTokenStore: TokenStore {
    let file: PrivateFile
    let lock: FileLock
    /// File operations may block, so they do not run on Swift's shared threads.
    private let queue = DispatchQueue(label: "gatehouse.file-token-store", qos: .userInitiated)

    /// - Parameter file: for example `~/.config/my-tool/session.json`. Its folder is created by the first save.
    public init(file: URL) {
        self.init(file: file, clock: SystemClock())
    }

    init(file: URL, clock: any SessionClock) {
        self.file = PrivateFile(path: file.standardizedFileURL.path)
        lock = FileLock(file: PrivateFile(path: self.file.path + ".lock"), clock: clock)
    }

    public func load() async throws(TokenStoreError) -> Data? {
        try await runBlocking { [file] () throws(TokenStoreError) in try file.read() }
    }

    public func save(_ data: Data) async throws(TokenStoreError) {
        try await runBlocking { [file] () throws(TokenStoreError) in try file.replace(with: data) }
    }

    /// Deletes the stored session. A missing file is not an error. The server is not informed.
    public func delete() async throws(TokenStoreError) {
        try await runBlocking { [file] () throws(TokenStoreError) in try file.remove() }
    }

    /// Waits for the lock, for at most 20 seconds. After that, or if locking is not possible, `body` runs without the
    /// lock.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and what `body` throws.
    public func withExclusiveAccess<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        // If the lock file cannot be opened, saving fails too, and that error gives the reason.
        let opened = try? await runBlocking { [lock] () throws(TokenStoreError) in try lock.open() }
        defer { if let opened { FileLock.close(opened) } }
        if let opened { try await lock.take(opened) }
        return try await body()
    }

    private func runBlocking<Value: Sendable>(
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

/// An advisory lock on a file (`flock`) that one process holds at a time. The system releases it when the process ends
/// for any reason, so stale locks do not occur.
struct FileLock: Sendable {
    /// After this time the caller continues without the lock: the process that holds it may be suspended. Both
    /// processes then get the same successor of a token from the server.
    static let timeout = Duration.seconds(20)

    let file: PrivateFile
    let clock: any SessionClock

    /// - Returns: a new descriptor, so that two locks of this process exclude each other as two processes do.
    func open() throws(TokenStoreError) -> Int32 {
        try file.folder.make()
        return try file.open(O_RDWR | O_CREAT)
    }

    /// Polls, because a blocking call would occupy one of Swift's shared threads.
    ///
    /// - Returns: whether the lock was acquired.
    /// - Throws: if the task is cancelled while it waits. The caller then must not run its locked work.
    @discardableResult
    func take(_ descriptor: Int32) async throws(CancellationError) -> Bool {
        let end = clock.monotonic + Self.timeout
        while true {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            guard errno == EWOULDBLOCK || errno == EINTR, clock.monotonic < end else { return false }
            do { try await clock.sleep(for: .milliseconds(Int.random(in: 5...25))) } catch {
                throw CancellationError()
            }
        }
    }

    static func close(_ descriptor: Int32) { PrivateFile.close(descriptor) }
}

/// A folder whose files no other user can replace.
struct PrivateFolder: Sendable {
    let path: String

    /// Creates the missing part of the path for this user alone. An existing folder keeps its mode, because other users
    /// may share it.
    func make() throws(TokenStoreError) {
        guard mkdir(path, 0o700) != 0 else { return }
        switch errno {
        case EEXIST: return
        case ENOENT where path != parent.path:
            try parent.make()
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .system("mkdir", path) }
        default: throw .system("mkdir", path)
        }
    }

    /// - Returns: whether the folder exists.
    func check() throws(TokenStoreError) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return false }
            throw .system("stat", path)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw TokenStoreError(.failed, "\(path) is not a folder") }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw TokenStoreError(.failed, "\(path) belongs to another user (\(status.st_uid))")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw TokenStoreError(.failed, "others may write to \(path): chmod go-w it")
        }
        return true
    }

    /// Flushes the folder's entries to the disk.
    func synchronize() throws(TokenStoreError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("open", path) }
        defer { PrivateFile.close(descriptor) }
        // Some file systems do not support this for folders.
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else { throw .system("fsync", path) }
    }

    private var parent: PrivateFolder { PrivateFile(path: path).folder }
}

extension TokenStoreError {
    /// The error of a system call, the last one by default, with the path of the file.
    static func system(_ call: String, _ path: String, _ number: Int32 = errno) -> TokenStoreError {
        TokenStoreError(.failed, "\(call) \(path): \(String(cString: strerror(number))) (errno \(number))")
    }
}
