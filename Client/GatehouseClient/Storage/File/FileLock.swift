import Dispatch
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// An advisory lock on a file (`flock`) that one process holds at a time. The system releases it when the process ends
/// for any reason, so stale locks do not occur.
struct FileLock: Sendable {
    /// After this time the caller continues without the lock: the process that holds it may be suspended. Both
    /// processes then get the same successor of a token from the server.
    static let timeout = Duration.seconds(20)

    let file: PrivateFile
    let clock: any SessionClock
    /// Keeps the process from being suspended while it may hold the lock. `nil` if the system suspends no process.
    var keepAwake: KeepAwake?
    /// File operations may block, so they do not run on Swift's shared threads.
    private let queue = DispatchQueue(label: "gatehouse.file-lock", qos: .userInitiated)

    /// Begins an activity.
    ///
    /// - `expire`: called if the system suspends the process nevertheless.
    /// - Returns: ends the activity.
    typealias KeepAwake = @Sendable (_ expire: @escaping @Sendable () -> Void) -> @Sendable () -> Void

    init(file: PrivateFile, clock: any SessionClock, keepAwake: KeepAwake? = nil) {
        self.file = file
        self.clock = clock
        self.keepAwake = keepAwake
    }

    /// Runs `body` with the lock. `body` runs without it if the file cannot be opened, or if the lock cannot be
    /// acquired within ``timeout``.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and what `body` throws.
    func withLock<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        guard let hold = try? await queue.run({ () throws(TokenStoreError) in try open() }) else {
            return try await body()
        }
        let stayAwake = keepAwake?({ hold.release() })
        defer {
            hold.release()
            stayAwake?()
        }
        try await take(hold)
        return try await body()
    }

    /// - Returns: a new descriptor, so that two locks of this process exclude each other as two processes do.
    func open() throws(TokenStoreError) -> Hold {
        try file.folder.make()
        return Hold(try file.open(O_RDWR | O_CREAT))
    }

    /// Polls, because a blocking call would occupy one of Swift's shared threads.
    ///
    /// - Returns: whether the lock was acquired.
    /// - Throws: if the task is cancelled while it waits. The caller then must not run its locked work.
    @discardableResult
    func take(_ hold: Hold) async throws(CancellationError) -> Bool {
        let end = clock.monotonic + Self.timeout
        while true {
            switch hold.acquire() {
            case .acquired: return true
            case .failed: return false
            case .taken: break
            }
            guard clock.monotonic < end else { return false }
            do { try await clock.sleep(for: .milliseconds(Int.random(in: 5...25))) } catch {
                throw CancellationError()
            }
        }
    }

    /// An open descriptor of the lock file. Closing it releases the lock.
    final class Hold: Sendable {
        enum Attempt: Sendable {
            case acquired, taken, failed
        }

        private let descriptor: Locked<Int32?>

        init(_ descriptor: Int32) { self.descriptor = Locked(descriptor) }

        deinit { release() }

        func acquire() -> Attempt {
            descriptor.withLock { descriptor in
                guard let descriptor else { return .failed }
                if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return .acquired }
                return errno == EWOULDBLOCK || errno == EINTR ? .taken : .failed
            }
        }

        func release() {
            descriptor.withLock { descriptor in
                if let open = descriptor { PrivateFile.close(open) }
                descriptor = nil
            }
        }
    }
}

extension DispatchQueue {
    /// Runs blocking work on this queue.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(TokenStoreError) -> Value
    ) async throws(TokenStoreError) -> Value {
        let result: Result<Value, TokenStoreError> = await withCheckedContinuation { continuation in
            async {
                continuation.resume(returning: Result { () throws(TokenStoreError) in try work() })
            }
        }
        return try result.get()
    }
}

/// A file that only this user can read.
struct PrivateFile: Sendable {
    let path: String
    let folder: PrivateFolder
    let name: String

    init(path: String) {
        self.path = path
        let slash = path.lastIndex(of: "/")
        name = String(slash.map { path[path.index(after: $0)...] } ?? path[...])
        switch slash {
        case nil: folder = PrivateFolder(path: ".")
        case path.startIndex: folder = PrivateFolder(path: "/")
        case let slash?: folder = PrivateFolder(path: String(path[..<slash]))
        }
    }

    func open(_ flags: Int32) throws(TokenStoreError) -> Int32 {
        guard let descriptor = try openIfThere(flags) else { throw .system("open", path, ENOENT) }
        return descriptor
    }

    /// Opens the file, closed on `exec`, and ensures that it is private to this user.
    func openIfThere(_ flags: Int32) throws(TokenStoreError) -> Int32? {
        // O_NONBLOCK: opening a pipe must not block. The check below refuses it.
        let flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        #if canImport(Darwin)
            let descriptor = Darwin.open(path, flags, 0o600)
        #elseif canImport(Musl)
            let descriptor = Musl.open(path, flags, 0o600)
        #else
            let descriptor = Glibc.open(path, flags, 0o600)
        #endif
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .system("open", path)
        }
        do {
            try check(descriptor)
        } catch {
            Self.close(descriptor)
            throw error
        }
        return descriptor
    }

    private func check(_ descriptor: Int32) throws(TokenStoreError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system("fstat", path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw TokenStoreError(.failed, "\(path) is not a regular file")
        }
        guard status.st_uid == geteuid() else {
            throw TokenStoreError(.failed, "\(path) belongs to another user (\(status.st_uid))")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw TokenStoreError(.failed, "others may write to \(path): remove it, and sign in again")
        }
        // Other users may have read the file already. Refusing it would not change that, and the next save is private.
        guard status.st_mode & 0o077 == 0 || fchmod(descriptor, 0o600) == 0 else { throw .system("chmod", path) }
    }

    static func close(_ descriptor: Int32) {
        #if canImport(Darwin)
            Darwin.close(descriptor)
        #elseif canImport(Musl)
            Musl.close(descriptor)
        #else
            Glibc.close(descriptor)
        #endif
    }
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

    private var parent: PrivateFolder { PrivateFile(path: path).folder }
}

extension TokenStoreError {
    /// The error of a system call, the last one by default, with the path of the file.
    static func system(_ call: String, _ path: String, _ number: Int32 = errno) -> TokenStoreError {
        TokenStoreError(.failed, "\(call) \(path): \(String(cString: strerror(number))) (errno \(number))")
    }
}
