import NIOCore

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
    /// Gives up memory of which nothing is left to read: NIO reads into it again, and an idle connection holds none.
    mutating func letGoIfEmpty() {
        if readableBytes == 0 { self = ByteBuffer() }
    }
}
