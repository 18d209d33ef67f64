import Crypto
import Foundation
import IdentityCore
import NIOPosix

/// Passwords that are known from breaches of other services: a filter in a file (``PasswordFilter``). Each look-up
/// reads 64 bytes. The file stays on the disk and in the system's cache.
final class BreachedPasswords: Sendable {
    private let file: Int32
    private let filter: PasswordFilter

    /// Opens the file. It stays in use even when another file replaces it.
    /// - Throws: ``PasswordFilterError`` where the file is not a filter, or is incomplete.
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

    /// Whether the list contains the password. At most one in a thousand other passwords matches by error.
    func contain(_ password: Password) async throws -> Bool {
        let hash = Array(Insecure.SHA1.hash(data: Data(password.text.utf8)))
        // The disk may be slow, and must not block a thread of Swift's concurrency pool.
        return try await NIOThreadPool.singleton.runIfActive { try self.contain(hash) }
    }

    func contain(_ hash: [UInt8]) throws -> Bool {
        guard let block = Self.read(PasswordFilter.blockLength, at: filter.offset(of: hash), of: file) else {
            throw PasswordFilterError("the filter of breached passwords cannot be read")
        }
        return block.withUnsafeBytes { PasswordFilter.holds($0, hash) }
    }

    /// - Returns: `nil` where the file has fewer bytes there.
    private static func read(_ count: Int, at offset: UInt64, of file: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, count, off_t(offset)) }
        return found == count ? bytes : nil
    }
}

/// Builds a filter from a list of hashes (`identity passwords filter build`).
///
/// The list is read twice: to count the hashes, and to set the bits. The filter is a mapped file, so its memory is the
/// system's cache of that file, which the system can reclaim.
package struct PasswordFilterBuilder: Sendable {
    /// In bytes. No list of hashes has longer lines.
    private static let longestLine = 4096

    private let source: String
    private let destination: String
    private let leastCount: Int

    package struct Outcome: Sendable {
        /// The number of hashes added. Duplicates count twice.
        package var entries: Int
        /// The size of the file.
        package var bytes: Int
    }

    /// - Parameters:
    ///   - source: a file of lines `SHA1` or `SHA1:COUNT`, in any order; a file sorted by hash is the fastest.
    ///   - destination: replaced atomically once the filter is complete.
    ///   - leastCount: hashes with a smaller count are left out; hashes without a count are included.
    package init(source: String, destination: String, leastCount: Int = 1) {
        self.source = source
        self.destination = destination
        self.leastCount = leastCount
    }

    /// - Throws: ``PasswordFilterError``.
    package func build() throws -> Outcome {
        var entries = 0
        try forEach { _ in entries += 1 }
        guard entries > 0 else { throw PasswordFilterError("\(source) holds no hash") }
        let filter = PasswordFilter(entries: entries)
        let unfinished = destination + ".unfinished"
        do {
            try write(filter, to: unfinished)
            guard rename(unfinished, destination) == 0 else { throw failure("cannot be replaced", destination) }
        } catch {
            unlink(unfinished)
            throw error
        }
        return Outcome(entries: entries, bytes: Int(filter.fileLength))
    }

    private func forEach(_ body: ([UInt8]) throws -> Void) throws {
        guard let file = FileHandle(forReadingAtPath: source) else {
            throw PasswordFilterError("\(source) cannot be read: \(PasswordFilterError.system)")
        }
        defer { try? file.close() }
        var reader = LineReader(file, longestLine: Self.longestLine)
        do {
            while try reader.next({ try read($0, number: $1, body) }) != nil {}
        } catch let failure as LineReader.Failure {
            throw PasswordFilterError("\(source): \(failure)")
        }
    }

    private func read(
        _ bytes: UnsafeRawBufferPointer, number: Int, _ body: ([UInt8]) throws -> Void
    ) throws {
        if bytes.isEmpty { return }
        guard let line = BreachedHashLine(bytes) else {
            throw PasswordFilterError("\(source): line \(number) is not a SHA-1, nor one with a count")
        }
        if line.count ?? leastCount >= leastCount { try body(line.hash) }
    }

    private func write(_ filter: PasswordFilter, to path: String) throws {
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw failure("cannot be written", path) }
        defer { close(file) }
        let length = Int(filter.fileLength)
        try reserve(length, of: file, path)
        guard let map = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), map != MAP_FAILED else {
            throw failure("cannot be mapped", path)
        }
        defer { munmap(map, length) }
        let bytes = UnsafeMutableRawBufferPointer(start: map, count: length)
        bytes.copyBytes(from: filter.header)
        try forEach { hash in
            let block = Int(filter.offset(of: hash))
            for bit in PasswordFilter.bits(of: hash) { bytes[block + bit / 8] |= 1 << (bit % 8) }
        }
        guard fsync(file) == 0 else { throw failure("cannot be written", path) }
    }

    /// Reserves the disk space first: writing to a mapped page without disk space would terminate the process.
    private func reserve(_ length: Int, of file: Int32, _ path: String) throws {
        #if canImport(Darwin)
            let status = ftruncate(file, off_t(length)) == 0 ? 0 : errno
        #else
            let status = posix_fallocate(file, 0, off_t(length))
        #endif
        guard status == 0 else {
            throw PasswordFilterError("\(path) has no room for \(length) bytes: \(String(cString: strerror(status)))")
        }
    }

    private func failure(_ what: String, _ path: String) -> PasswordFilterError {
        PasswordFilterError("\(path) \(what): \(PasswordFilterError.system)")
    }
}

/// A filter of breached passwords cannot be built or read. The text is for the operator.
package struct PasswordFilterError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }

    /// The error of the last system call.
    static var system: String { String(cString: strerror(errno)) }
}
