import Foundation

/// The version of a file's contents and protection. It changes when the file is replaced or rewritten, or when its
/// owner or mode changes.
package struct FileVersion: Equatable, Sendable {
    private var file: UInt64
    private var size: Int64
    private var mode: UInt32
    /// Bytes, because the module that declares the fields of `timespec` depends on the compiler's order of imports.
    private var modified: [UInt8]
    /// When the contents, the owner or the mode changed. `modified` covers only the contents.
    private var changed: [UInt8]

    /// `nil` while there is no such file.
    package init?(_ path: String) {
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
