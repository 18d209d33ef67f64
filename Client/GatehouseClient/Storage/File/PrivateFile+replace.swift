import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension PrivateFile {
    /// Writes a new file and gives it the name of the old one. An error leaves the old one as it was.
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
        // What a process' umask may have taken away.
        guard fchmod(descriptor, 0o600) == 0 else { throw .system("chmod", path) }
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw .system("write", path) }
            rest = rest.dropFirst(count)
        }
        #if canImport(Darwin)
            // There fsync() leaves the bytes in the drive's own memory. Some file systems know only that.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw .system("fsync", path) }
    }

    /// Removes new files of processes that died before they gave them their name: a minute older than the one that has
    /// just been written, since a younger one may be another process' that is at work.
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
