import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file that only this user can read, replaced as a whole.
struct PrivateFile: Sendable {
    /// In bytes. A session has a few thousand.
    static let largest = 1 << 20

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

    /// - Returns: `nil` if the file does not exist.
    func read() throws(TokenStoreError) -> Data? {
        guard try folder.check(), let descriptor = try openIfThere(O_RDONLY) else { return nil }
        defer { Self.close(descriptor) }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            #if canImport(Darwin)
                let count = Darwin.read(descriptor, &buffer, buffer.count)
            #elseif canImport(Musl)
                let count = Musl.read(descriptor, &buffer, buffer.count)
            #else
                let count = Glibc.read(descriptor, &buffer, buffer.count)
            #endif
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .system("read", path) }
            guard count > 0 else { return data }
            data += buffer[..<count]
            guard data.count <= Self.largest else { throw TokenStoreError(.corrupt, "\(path) is too large") }
        }
    }

    func remove() throws(TokenStoreError) {
        guard try folder.check() else { return }
        guard unlink(path) == 0 || errno == ENOENT else { throw .system("unlink", path) }
        try folder.synchronize()
    }

    func open(_ flags: Int32) throws(TokenStoreError) -> Int32 {
        guard let descriptor = try openIfThere(flags) else { throw .system("open", path, ENOENT) }
        return descriptor
    }

    /// Opens the file, closed on `exec`, and ensures that it is private to this user.
    private func openIfThere(_ flags: Int32) throws(TokenStoreError) -> Int32? {
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

extension PrivateFile {
    /// Writes a new file and renames it over the old one. On an error, the old file stays unchanged.
    func replace(with data: Data) throws(TokenStoreError) {
        try folder.make()
        _ = try folder.check()
        let new = PrivateFile(path: "\(folder.path)/\(prefix)\(UInt64.random(in: 0 ... .max))")
        do throws(TokenStoreError) {
            try new.create(holding: data)
            guard rename(new.path, path) == 0 else { throw .system("rename", path) }
        } catch {
            unlink(new.path)
            throw error
        }
        try folder.synchronize()
        removeLeftovers()
    }

    private var prefix: String { ".\(name).new-" }

    private func create(holding data: Data) throws(TokenStoreError) {
        let descriptor = try open(O_WRONLY | O_CREAT | O_EXCL)
        defer { Self.close(descriptor) }
        // The process' umask may have cleared these bits.
        guard fchmod(descriptor, 0o600) == 0 else { throw .system("chmod", path) }
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw .system("write", path) }
            rest = rest.dropFirst(count)
        }
        #if canImport(Darwin)
            // On Darwin, fsync() leaves the bytes in the drive's cache. Some file systems support nothing else.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw .system("fsync", path) }
    }

    /// Removes temporary files of processes that died before the rename. A file must be a minute older than the one
    /// just written: a younger one may belong to a running process.
    private func removeLeftovers() {
        var mine = stat()
        guard stat(path, &mine) == 0 else { return }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let leftover = "\(folder.path)/\(name)"
            var status = stat()
            if stat(leftover, &status) == 0, status.modified < mine.modified - 60 { unlink(leftover) }
        }
    }
}

extension stat {
    /// Seconds since 1970.
    fileprivate var modified: Int {
        #if canImport(Darwin)
            st_mtimespec.tv_sec
        #else
            st_mtim.tv_sec
        #endif
    }
}
