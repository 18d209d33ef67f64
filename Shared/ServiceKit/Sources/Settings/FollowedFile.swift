import Foundation

/// A file that is read anew when it changes, so that no replica needs a restart for it.
public struct FollowedFile: Sendable {
    /// What tells that a file was replaced or rewritten.
    private struct Version: Equatable {
        var file: UInt64
        var size: Int64
        /// As bytes: whose the fields of `timespec` are depends on which module the compiler reads first.
        var modified: [UInt8]

        /// `nil` while there is no such file.
        init?(_ path: String) {
            // Follows links: a mounted secret is one that is pointed elsewhere.
            var info = stat()
            guard stat(path, &info) == 0 else { return nil }
            #if canImport(Darwin)
                modified = withUnsafeBytes(of: &info.st_mtimespec) { Array($0) }
            #else
                modified = withUnsafeBytes(of: &info.st_mtim) { Array($0) }
            #endif
            file = UInt64(info.st_ino)
            size = Int64(info.st_size)
        }
    }

    private let path: String
    private let pause: Duration

    /// - Parameter pause: between two looks at the file.
    public init(path: String, pause: Duration = .seconds(1)) {
        self.path = path
        self.pause = pause
    }

    /// Calls `read` at once, and again after each change of the file, until the task is cancelled.
    ///
    /// It is called once for a change, also where it can't use the file: the same file is not complained of twice. A
    /// file that is not there has not changed.
    public func follow(_ read: @Sendable () async -> Void) async {
        var seen: Version?
        while !Task.isCancelled {
            // Looked at before it is read: what is written meanwhile is another version.
            if let version = Version(path), version != seen {
                seen = version
                await read()
            }
            try? await Task.sleep(for: pause)
        }
    }
}
