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

/// Makes a filter of a list of hashes (`identity passwords filter build`).
///
/// The list is read twice: to count, and to set bits. The filter is a file that is mapped, so the memory that this takes
/// is the system's cache of that file, which the system takes back when it needs to.
public struct PasswordFilterBuilder: Sendable {
    /// Bytes: no list of hashes has longer lines.
    private static let longestLine = 4096

    private let source: String
    private let destination: String
    private let leastCount: Int

    public struct Outcome: Sendable {
        /// Hashes that were put in, those that the list has twice counted twice.
        public var entries: Int
        /// Of the file.
        public var bytes: Int
    }

    /// - Parameters:
    ///   - source: a file of lines `SHA1` or `SHA1:COUNT`, in any order; sorted by hash it is done soonest.
    ///   - destination: replaced as a whole once the filter is whole.
    ///   - leastCount: hashes that were seen less often are left out; those without a count are taken.
    public init(source: String, destination: String, leastCount: Int = 1) {
        self.source = source
        self.destination = destination
        self.leastCount = leastCount
    }

    /// - Throws: ``PasswordFilterError``.
    public func build() throws -> Outcome {
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

    /// Takes the room on the disk now: a page of a map for which there is none would end the process.
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

/// A filter of breached passwords cannot be made or read. Its text is for whoever runs Gatehouse.
public struct PasswordFilterError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }

    /// Why the system's last call failed.
    static var system: String { String(cString: strerror(errno)) }
}
