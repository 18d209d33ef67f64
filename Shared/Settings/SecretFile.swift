import Foundation

/// What a file that holds a secret has to be like.
public enum SecretFile {
    /// The mode of a file (as `chmod` takes it) that everybody may read, write or run; `nil` for all others.
    public static func openMode(_ path: String) -> String? {
        var info = stat()
        guard stat(path, &info) == 0, info.st_mode & 0o007 != 0 else { return nil }
        return String(info.st_mode & 0o777, radix: 8)
    }
}
