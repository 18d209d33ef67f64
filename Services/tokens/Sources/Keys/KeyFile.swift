import Foundation

/// Writes key files. A file is created with its final mode, so that there is no moment in which others could open it.
enum KeyFile {
    /// Creates a file that only its owner may read.
    ///
    /// - Throws: `CocoaError`, also when it is there already.
    static func create(_ path: String, with text: String) throws {
        try write(text, to: path, mode: 0o600) { _ in }
    }

    /// Replaces a file in one step. The new one gets the old one's owner and mode, so that the service can read it as
    /// well.
    ///
    /// - Parameter mode: for a file that is not there yet.
    static func replace(_ path: String, with text: String, mode: mode_t = 0o600) throws {
        let new = "\(path).\(UUID().uuidString)"
        do {
            try write(text, to: new, mode: mode) { file in
                var old = stat()
                guard stat(path, &old) == 0 else { return }
                guard fchown(file, old.st_uid, old.st_gid) == 0, fchmod(file, old.st_mode & 0o777) == 0 else {
                    throw SigningKeysError("\(path) is another user's, to whom the new one cannot be given")
                }
            }
            guard rename(new, path) == 0 else { throw SigningKeysError("\(path) cannot be replaced") }
        } catch {
            unlink(new)
            throw error
        }
        // A rename survives a crash only once the folder is on the disk.
        let folder = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        fsync(folder)
        close(folder)
    }

    private static func write(
        _ text: String, to path: String, mode: mode_t, prepare: (Int32) throws -> Void
    ) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else {
            throw CocoaError(
                errno == EEXIST ? .fileWriteFileExists : .fileWriteUnknown, userInfo: [NSFilePathErrorKey: path])
        }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        try prepare(file)
        try handle.write(contentsOf: Data(text.utf8))
        try handle.synchronize()
    }
}
