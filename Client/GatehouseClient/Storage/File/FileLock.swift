#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

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
