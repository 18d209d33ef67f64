import NIOCore

/// Writes a head into reserved memory, which does not grow. Each write costs one check of the bound.
struct ByteWriter: ~Copyable {
    private let room: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    fileprivate init(_ room: UnsafeMutableRawBufferPointer) { self.room = room }

    @inline(__always)
    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= room.count - count)
        guard let source = bytes.baseAddress else { return }
        room.baseAddress!.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    /// Names of fields are written as literals, because a `StaticString` needs no conversion. Tests read the fields by
    /// the names in `HeaderName`.
    @inline(__always)
    mutating func write(_ text: StaticString) {
        write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { write($0) }
    }

    mutating func write(decimal number: Int) {
        precondition(number >= 0)
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var start = digits.count
            var rest = number
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            write(UnsafeRawBufferPointer(rebasing: digits[start...]))
        }
    }

    /// Sixteen digits.
    mutating func write(hexadecimal number: UInt64) {
        precondition(room.count - count >= 16)
        for index in 0..<16 {
            let digit = UInt8(truncatingIfNeeded: number >> UInt64(60 - 4 * index)) & 15
            room[count + index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        }
        count += 16
    }
}

extension ByteBuffer {
    /// Appends what `body` writes, which is at most `capacity` bytes.
    mutating func write(atMost capacity: Int, _ body: (inout ByteWriter) -> Void) {
        _ = writeWithUnsafeMutableBytes(minimumWritableBytes: capacity) { room in
            var writer = ByteWriter(room)
            body(&writer)
            return writer.count
        }
    }
}

extension UInt8 {
    static let tab = UInt8(ascii: "\t")
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let colon = UInt8(ascii: ":")

    /// Optional white space (RFC 9110 §5.6.3).
    var isBlank: Bool { self == .space || self == .tab }
}

/// The members of a comma-separated list, without white space around them and without empty ones (RFC 9110 §5.6.1).
struct ListMembers: Sequence, IteratorProtocol {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ list: UnsafeRawBufferPointer) { rest = list[...] }

    mutating func next() -> UnsafeRawBufferPointer? {
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
            var member = rest[..<end]
            rest = end == rest.endIndex ? rest[end...] : rest[(end + 1)...]
            while let first = member.first, first.isBlank { member = member.dropFirst() }
            while let last = member.last, last.isBlank { member = member.dropLast() }
            if !member.isEmpty { return UnsafeRawBufferPointer(rebasing: member) }
        }
        return nil
    }
}

extension ByteBuffer {
    /// Releases the memory of a buffer without unread bytes, so that an idle connection holds none.
    mutating func releaseIfEmpty() {
        if readableBytes == 0 { self = ByteBuffer() }
    }
}
