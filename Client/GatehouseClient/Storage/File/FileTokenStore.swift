#if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    import Dispatch
    public import Foundation

    /// Keeps a session in a file that only its user can read: for command-line tools and other programs without a
    /// Keychain. Not available on iOS and its relatives, whose apps have one.
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
        private let lock: FileLock
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
            try await queue.run { [file] () throws(TokenStoreError) in try file.read() }
        }

        public func save(_ data: Data) async throws(TokenStoreError) {
            try await queue.run { [file] () throws(TokenStoreError) in try file.replace(with: data) }
        }

        /// Deletes the stored session. A missing file is not an error. The server is not informed.
        public func delete() async throws(TokenStoreError) {
            try await queue.run { [file] () throws(TokenStoreError) in try file.remove() }
        }

        /// Waits for the lock, for at most 20 seconds. After that, or if locking is not possible, `body` runs without
        /// the lock.
        ///
        /// - Throws: `CancellationError` if the task is cancelled while it waits, and what `body` throws.
        public func withExclusiveAccess<Value: Sendable>(
            _ body: @Sendable () async throws -> Value
        ) async throws -> Value {
            // If the lock file cannot be opened, saving fails too, and that error gives the reason.
            try await lock.withLock(body)
        }
    }
#endif
