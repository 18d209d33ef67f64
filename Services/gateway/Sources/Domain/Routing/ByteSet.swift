/// A set of bytes: what one state of a scanner lets through.
struct ByteSet: Sendable {
    enum Base {
        case empty
        case alphanumeric
        /// Every byte that can be seen in ASCII, without the space.
        case visible
    }

    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// The bytes of `base` and those of `characters`, all of them ASCII.
    init(_ base: Base, _ characters: StaticString) {
        for byte in UInt8(0)...127 {
            let isIncluded =
                switch (base, byte) {
                case (.alphanumeric, UInt8(ascii: "0")...UInt8(ascii: "9")),
                    (.alphanumeric, UInt8(ascii: "A")...UInt8(ascii: "Z")),
                    (.alphanumeric, UInt8(ascii: "a")...UInt8(ascii: "z")), (.visible, 0x21...0x7E):
                    true
                default: false
                }
            if isIncluded { insert(byte) }
        }
        characters.withUTF8Buffer { $0.forEach { insert($0) } }
    }

    private mutating func insert(_ byte: UInt8) {
        precondition(byte < 128)
        if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        byte < 128 && ((byte < 64 ? low : high) &>> UInt64(byte & 63)) & 1 == 1
    }

    func containsAll(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.allSatisfy(contains)
    }
}
