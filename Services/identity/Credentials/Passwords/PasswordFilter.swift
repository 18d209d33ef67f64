// Pure: no I/O, no clock.

/// A line of a list of breached passwords, in the format of Have I Been Pwned: a SHA-1 in hexadecimal and, optionally,
/// a colon and a count.
struct BreachedHashLine: Sendable, Equatable {
    /// 20 bytes.
    var hash: [UInt8]
    /// `nil` where the list has no count.
    var count: Int?

    /// - Parameter line: without its line feed; a carriage return at the end is ignored.
    init?(_ line: UnsafeRawBufferPointer) {
        let rest = UnsafeRawBufferPointer(rebasing: line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...])
        let digits = 2 * PasswordFilter.hashLength
        guard rest.count >= digits else { return nil }
        hash = []
        hash.reserveCapacity(PasswordFilter.hashLength)
        for index in stride(from: 0, to: digits, by: 2) {
            guard let high = Self.value(rest[index]), let low = Self.value(rest[index + 1]) else { return nil }
            hash.append(high << 4 | low)
        }
        guard rest.count > digits else { return }
        guard rest[digits] == UInt8(ascii: ":"),
            let text = String(validating: rest[(digits + 1)...], as: UTF8.self), let count = Int(text), count >= 0
        else { return nil }
        self.count = count
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

/// The layout of a filter of breached passwords: a blocked Bloom filter (Putze, Sanders, Singler 2007) of SHA-1 hashes.
/// It contains each hash that was added. Fewer than one in a thousand other hashes match by error.
///
/// A hash sets eight bits of one block of 512, so that a look-up reads 64 bytes. The hash's first bytes select the
/// block: a list that is sorted by hash fills the file from start to end. SHA-1's bits are as good as random, so they
/// are not hashed again.
struct PasswordFilter: Sendable, Equatable {
    /// The number of hashes that the filter was made for.
    var entries: UInt64
    var blocks: UInt64

    static let blockLength = 64
    /// The header precedes the blocks, and is as long as one of them.
    static let headerLength = blockLength
    static let hashLength = 20
    /// Bits for each hash. A plain Bloom filter needs 14.4 for one error in a thousand. Blocks fill unevenly, so they
    /// need a little more.
    private static let bitsPerEntry: UInt64 = 18
    private static let magic = Array("GHPWFLT1".utf8)

    init(entries: Int) {
        self.entries = UInt64(entries)
        blocks = max(1, (self.entries * Self.bitsPerEntry + 511) / 512)
    }

    /// Bytes of the whole file.
    var fileLength: UInt64 { UInt64(Self.headerLength) + blocks * UInt64(Self.blockLength) }

    /// The position of a hash's block in the file.
    func offset(of hash: [UInt8]) -> UInt64 {
        UInt64(Self.headerLength) + Self.number(hash[0..<8]).multipliedFullWidth(by: blocks).high
            * UInt64(Self.blockLength)
    }

    /// The eight bits of a hash in its block, each 0 to 511.
    static func bits(of hash: [UInt8]) -> [Int] {
        let seven = number(hash[8..<16])
        return (0..<7).map { Int(seven >> (9 * $0) & 511) } + [Int(number(hash[16..<20]) & 511)]
    }

    static func holds(_ block: UnsafeRawBufferPointer, _ hash: [UInt8]) -> Bool {
        bits(of: hash).allSatisfy { block[$0 / 8] & 1 << ($0 % 8) != 0 }
    }

    // MARK: Header

    /// The beginning of the file: `GHPWFLT1`, entries, blocks (both little-endian), zeros.
    var header: [UInt8] {
        let numbers = [entries, blocks].flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        let used = Self.magic + numbers
        return used + [UInt8](repeating: 0, count: Self.headerLength - used.count)
    }

    /// `nil` where the header is not that of a filter, or the file's length differs from the header's.
    init?(header: [UInt8], fileLength: UInt64) {
        guard header.count == Self.headerLength, header.starts(with: Self.magic) else { return nil }
        self.init(entries: 0)
        entries = Self.number(header[8..<16].reversed())
        blocks = Self.number(header[16..<24].reversed())
        guard blocks >= 1, blocks <= 1 << 40, self.fileLength == fileLength, header == self.header else { return nil }
    }

    /// Big-endian.
    private static func number(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
