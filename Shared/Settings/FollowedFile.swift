import Foundation

/// A file, or a group of files, that is read again when it changes, so that a change needs no restart.
public struct FollowedFile: Sendable {
    /// Changes when the file is replaced or rewritten, or when its owner or mode changes.
    private struct Version: Equatable {
        var file: UInt64
        var size: Int64
        var mode: UInt32
        /// Bytes, because the module that declares the fields of `timespec` depends on the compiler's order of imports.
        var modified: [UInt8]
        /// When the contents, the owner or the mode changed. `modified` covers only the contents.
        var changed: [UInt8]

        /// `nil` while there is no such file.
        init?(_ path: String) {
            // Follows symbolic links: a mounted secret changes by a new link target.
            var info = stat()
            guard stat(path, &info) == 0 else { return nil }
            #if canImport(Darwin)
                let times = (modified: info.st_mtimespec, changed: info.st_ctimespec)
            #else
                let times = (modified: info.st_mtim, changed: info.st_ctim)
            #endif
            file = UInt64(info.st_ino)
            size = Int64(info.st_size)
            mode = UInt32(info.st_mode)
            modified = withUnsafeBytes(of: times.modified) { Array($0) }
            changed = withUnsafeBytes(of: times.changed) { Array($0) }
        }
    }

    private let paths: @Sendable () -> [String]
    private let pause: Duration

    /// - Parameter pause: the time between two checks of the file.
    public init(path: String, pause: Duration = .seconds(1)) {
        self.init(paths: { [path] }, pause: pause)
    }

    /// - Parameters:
    ///   - paths: the files, evaluated at each check, because the contents may name other files.
    ///   - pause: the time between two checks.
    public init(paths: @escaping @Sendable () -> [String], pause: Duration = .seconds(1)) {
        self.paths = paths
        self.pause = pause
    }

    /// Calls `read` at once, and again after each change of the file, until the task is cancelled.
    ///
    /// It is called once for a change. If it throws, it is called again at each check until it succeeds, because the
    /// cause may disappear without a change of the file. A missing file counts as unchanged.
    public func follow(_ read: @Sendable () async throws -> Void) async {
        var seen: [String: Version] = [:]
        while !Task.isCancelled {
            // Check before reading, so that a write in between counts as another version.
            let found = paths().reduce(into: [:]) { $0[$1] = Version($1) ?? seen[$1] }
            if found.contains(where: { $1 != seen[$0] }) {
                seen = (try? await read()) == nil ? [:] : found
            }
            try? await Task.sleep(for: pause)
        }
    }
}
