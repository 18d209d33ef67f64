import Foundation

/// A file that is read anew when it changes, so that no replica needs a restart for it; or several that make up one.
public struct FollowedFile: Sendable {
    /// What tells that a file was replaced or rewritten, or may be read by others than before.
    private struct Version: Equatable {
        var file: UInt64
        var size: Int64
        var mode: UInt32
        /// As bytes: whose the fields of `timespec` are depends on which module the compiler reads first.
        var modified: [UInt8]
        /// When owner or mode changed, which leaves `modified` as it is, or the contents.
        var changed: [UInt8]

        /// `nil` while there is no such file.
        init?(_ path: String) {
            // Follows links: a mounted secret is one that is pointed elsewhere.
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

    /// - Parameter pause: between two looks at the file.
    public init(path: String, pause: Duration = .seconds(1)) {
        self.init(paths: { [path] }, pause: pause)
    }

    /// - Parameters:
    ///   - paths: those to look at, asked for at each look: what is read may name others.
    ///   - pause: between two looks.
    public init(paths: @escaping @Sendable () -> [String], pause: Duration = .seconds(1)) {
        self.paths = paths
        self.pause = pause
    }

    /// Calls `read` at once, and again after each change of the file, until the task is cancelled.
    ///
    /// It is called once for a change; where it throws, at each look until it does not: what was in its way may go
    /// without a trace in the file. A file that is not there has not changed.
    public func follow(_ read: @Sendable () async throws -> Void) async {
        var seen: [String: Version] = [:]
        while !Task.isCancelled {
            // Looked at before it is read: what is written meanwhile is another version.
            let found = paths().reduce(into: [:]) { $0[$1] = Version($1) ?? seen[$1] }
            if found.contains(where: { $1 != seen[$0] }) {
                seen = (try? await read()) == nil ? [:] : found
            }
            try? await Task.sleep(for: pause)
        }
    }
}
