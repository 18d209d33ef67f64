// Pure: no I/O, no clock.

import GatehouseBytes

/// Verifies that a path has one spelling, which authorisation, routing and forwarding all use.
///
/// A path is refused, never normalised: another parser might normalise it differently.
enum CanonicalPath {
    private static let plain = ByteSet(.alphanumeric, "-._~!$&'()*+,=:@/")

    /// Whether `path` (without the query) begins with `/` and has a single reading:
    /// no empty, `.` or `..` segment, no `;`, `\`, `#` or control byte, raw or escaped, no escape of a byte that needs
    /// none or that separates (`/`, `?`), no escape of an escape, no escapes that are not UTF-8.
    static func isCanonical(_ path: UnsafeRawBufferPointer) -> Bool {
        guard path.first == UInt8(ascii: "/") else { return false }
        let plain = plain
        var index = 1
        var segmentStart = 1
        var hasEscapes = false
        while index < path.count {
            let byte = path[index]
            if byte == UInt8(ascii: "/") {
                if !isSegment(path, segmentStart, index) { return false }
                segmentStart = index + 1
            } else if byte == UInt8(ascii: "%") {
                guard isAllowedEscape(path, at: index) else { return false }
                hasEscapes = true
                index += 2
            } else if !plain.contains(byte) {
                return false
            }
            index += 1
        }
        // The last segment may be empty: a trailing slash.
        guard segmentStart == path.count || isSegment(path, segmentStart, path.count) else { return false }
        return !hasEscapes || isUTF8(path)
    }

    private static func isSegment(_ path: UnsafeRawBufferPointer, _ start: Int, _ end: Int) -> Bool {
        let dot = UInt8(ascii: ".")
        switch end - start {
        case 0: return false
        case 1: return path[start] != dot
        case 2: return path[start] != dot || path[start + 1] != dot
        default: return true
        }
    }

    private static func isAllowedEscape(_ path: UnsafeRawBufferPointer, at index: Int) -> Bool {
        guard let byte = escapedByte(path, at: index) else { return false }
        switch byte {
        case 0...0x1F, 0x7F, UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: ";"), UInt8(ascii: "?"),
            UInt8(ascii: "#"):
            return false
        case UInt8(ascii: "%"):
            // A service that decodes twice turns `%252e` into `%2e`, and then into `.`.
            return index + 4 >= path.count || Hexadecimal.value(path[index + 3]) == nil
                || Hexadecimal.value(path[index + 4]) == nil
        default:
            return !plain.contains(byte)
        }
    }

    private static func isUTF8(_ path: UnsafeRawBufferPointer) -> Bool {
        var decoded: [UInt8] = []
        var index = 0
        while index < path.count {
            if let byte = escapedByte(path, at: index) {
                decoded.append(byte)
                index += 3
            } else {
                decoded.append(path[index])
                index += 1
            }
        }
        return String(validating: decoded, as: UTF8.self) != nil
    }

    private static func escapedByte(_ path: UnsafeRawBufferPointer, at index: Int) -> UInt8? {
        guard path[index] == UInt8(ascii: "%"), index + 2 < path.count, let high = Hexadecimal.value(path[index + 1]),
            let low = Hexadecimal.value(path[index + 2])
        else { return nil }
        return high << 4 | low
    }
}

/// A set of bytes that one state of a scanner accepts.
struct ByteSet: Sendable {
    enum Base {
        case empty
        case alphanumeric
        /// Every visible ASCII byte, without the space.
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

extension UInt8 {
    /// The lower-case letter for an upper-case one; every other byte unchanged.
    var lowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes equal `text`, which is in lower case, ignoring ASCII case.
    func equalsFolded(_ text: StaticString) -> Bool {
        equalsFolded(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Whether the bytes are equal, ignoring ASCII case.
    func equalsFolded(_ other: UnsafeRawBufferPointer) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.lowercased == $1.lowercased }
    }
}
