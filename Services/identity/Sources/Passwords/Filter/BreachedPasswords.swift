import Crypto
import Foundation
import NIOPosix

/// Passwords that are known from breaches of other services: a filter in a file (``PasswordFilter``). Of each look-up 64
/// bytes are read; the file stays on the disk, and in the system's cache of it.
final class BreachedPasswords: Sendable {
    private let file: Int32
    private let filter: PasswordFilter

    /// Opens the file, which is read from then on even when another takes its place.
    /// - Throws: ``PasswordFilterError`` where it is no filter, or not a whole one.
    init(path: String) throws {
        file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw PasswordFilterError("names a file that cannot be read: \(path)") }
        let length = lseek(file, 0, SEEK_END)
        guard length >= 0, let header = Self.read(PasswordFilter.headerLength, at: 0, of: file),
            let filter = PasswordFilter(header: header, fileLength: UInt64(length))
        else {
            close(file)
            throw PasswordFilterError("names a file that `identity passwords filter build` did not make: \(path)")
        }
        self.filter = filter
    }

    deinit { close(file) }

    /// Whether the password is among them; of a thousand that are not, one at the most is taken for one.
    func contain(_ password: Password) async throws -> Bool {
        let hash = Array(Insecure.SHA1.hash(data: Data(password.text.utf8)))
        // The disk may be slow, and a thread of Swift's must not wait for it.
        return try await NIOThreadPool.singleton.runIfActive { try self.contain(hash) }
    }

    func contain(_ hash: [UInt8]) throws -> Bool {
        guard let block = Self.read(PasswordFilter.blockLength, at: filter.offset(of: hash), of: file) else {
            throw PasswordFilterError("the filter of breached passwords cannot be read")
        }
        return block.withUnsafeBytes { PasswordFilter.holds($0, hash) }
    }

    /// - Returns: `nil` where the file has not as many bytes there.
    private static func read(_ count: Int, at offset: UInt64, of file: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, count, off_t(offset)) }
        return found == count ? bytes : nil
    }
}
