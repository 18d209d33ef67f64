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

/// One process at a time, by an advisory lock on a file (`flock`). The system lets go of it when a process ends, however
/// that happens, so that nobody ever has to clear one away.
struct FileLock: Sendable {
    /// Whoever has waited for so long goes on without: a process may be stopped while it has the lock, and the server
    /// gives both the same successor of a token.
    static let patience = Duration.seconds(20)

    let file: PrivateFile
    let clock: any SessionClock

    /// - Returns: a descriptor of its own, so that two of this process exclude each other as two processes do.
    func open() throws(TokenStoreError) -> Int32 {
        try file.folder.make()
        return try file.open(O_RDWR | O_CREAT)
    }

    /// Tries now and then, since a call that waits would hold one of Swift's shared threads.
    ///
    /// - Returns: whether the lock was had.
    /// - Throws: where the task is cancelled while it waits. Whoever gives up has nothing to do under the lock any more.
    @discardableResult
    func take(_ descriptor: Int32) async throws(CancellationError) -> Bool {
        let end = clock.monotonic + Self.patience
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

/// A folder whose files nobody else can put in another's place.
struct PrivateFolder: Sendable {
    let path: String

    /// Makes what is missing of it, for this user alone. A folder that is there keeps its mode: it may be others' too.
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

    /// - Returns: whether it is there.
    func check() throws(TokenStoreError) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return false }
            throw .system("stat", path)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw TokenStoreError(.failed, "\(path) is no folder") }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw TokenStoreError(.failed, "\(path) belongs to another user (\(status.st_uid))")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw TokenStoreError(.failed, "others may write to \(path): chmod go-w it")
        }
        return true
    }

    /// Writes through to the disk which names it holds.
    func synchronize() throws(TokenStoreError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("open", path) }
        defer { PrivateFile.close(descriptor) }
        // Some file systems know no such thing for folders.
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else { throw .system("fsync", path) }
    }

    private var parent: PrivateFolder { PrivateFile(path: path).folder }
}

extension TokenStoreError {
    /// What a call to the system said, the last one by default. Which file it was helps whoever has to mend it.
    static func system(_ call: String, _ path: String, _ number: Int32 = errno) -> TokenStoreError {
        TokenStoreError(.failed, "\(call) \(path): \(String(cString: strerror(number))) (errno \(number))")
    }
}
