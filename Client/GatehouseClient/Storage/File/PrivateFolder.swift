#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

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
