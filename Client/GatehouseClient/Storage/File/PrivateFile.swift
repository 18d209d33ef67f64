#if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    import Foundation

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Musl)
        import Musl
    #else
        import Glibc
    #endif

    extension PrivateFile {
        /// In bytes. A session has a few thousand.
        static let largest = 1 << 20

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

    extension PrivateFolder {
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
    }
#endif
