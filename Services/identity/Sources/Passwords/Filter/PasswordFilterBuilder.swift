import Foundation

/// Makes a filter of a list of hashes (`identity passwords filter build`).
///
/// The list is read twice: to count, and to set bits. The filter is a file that is mapped, so the memory that this takes
/// is the system's cache of that file, which the system takes back when it needs to.
public struct PasswordFilterBuilder: Sendable {
    private let source: HashListReader
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
        self.source = HashListReader(path: source)
        self.destination = destination
        self.leastCount = leastCount
    }

    /// - Throws: ``PasswordFilterError``.
    public func build() throws -> Outcome {
        var entries = 0
        try forEach { _ in entries += 1 }
        guard entries > 0 else { throw PasswordFilterError("\(source.path) holds no hash") }
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
        try source.forEach { bytes, number in
            guard let line = BreachedHashLine(bytes) else {
                throw PasswordFilterError("\(source.path): line \(number) is not a SHA-1, nor one with a count")
            }
            if line.count ?? leastCount >= leastCount { try body(line.hash) }
        }
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
