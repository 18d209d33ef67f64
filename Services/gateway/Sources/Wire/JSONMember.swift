// Pure: no I/O, no clock.

import GatehouseBytes

/// Finds a member of a JSON object in one pass over its bytes, without allocating anything.
///
/// Invalid JSON is not detected: the service that parses it refuses it.
enum JSONMember {
    /// Whether the outermost object has a member with the name and a value other than `null`.
    ///
    /// - Parameter name: consists of ASCII.
    static func isPresent(_ name: StaticString, in bytes: UnsafeRawBufferPointer) -> Bool {
        var depth = 0
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "\""):
                guard let string = scanString(bytes, from: index, comparedTo: name) else { return false }
                index = string.end
                guard depth == 1, string.isSame, skipSpace(bytes, &index) == UInt8(ascii: ":") else { continue }
                index += 1
                if skipSpace(bytes, &index) != UInt8(ascii: "n") { return true }
            default: break
            }
        }
        return false
    }

    /// - Returns: the byte at `index`; `nil` at the end.
    private static func skipSpace(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> UInt8? {
        while index < bytes.count {
            switch bytes[index] {
            case .space, .tab, .carriageReturn, .lineFeed: index += 1
            default: return bytes[index]
            }
        }
        return nil
    }

    /// Reads a string after its first quotation mark.
    ///
    /// - Returns: whether it is `name`, and the offset after it; `nil` where it has no end.
    private static func scanString(
        _ bytes: UnsafeRawBufferPointer, from start: Int, comparedTo name: StaticString
    ) -> (isSame: Bool, end: Int)? {
        var index = start
        var matched = 0
        var isSame = true
        while index < bytes.count {
            var byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "\"") { return (isSame && matched == name.utf8CodeUnitCount, index) }
            if byte == UInt8(ascii: "\\") { byte = scanEscape(bytes, &index) }
            guard isSame else { continue }
            isSame = matched < name.utf8CodeUnitCount && byte == name.utf8Start[matched]
            matched += 1
        }
        return nil
    }

    /// Reads an escape after the backslash.
    ///
    /// - Returns: the character, where it is ASCII and written as `\u`; otherwise 0, which no name contains.
    private static func scanEscape(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> UInt8 {
        guard index < bytes.count, bytes[index] == UInt8(ascii: "u"), index + 4 < bytes.count else {
            index += 1
            return 0
        }
        var character = 0
        for digit in bytes[(index + 1)...(index + 4)] {
            guard let value = Hexadecimal.value(digit) else { return 0 }
            character = character << 4 | Int(value)
        }
        index += 5
        return character < 128 ? UInt8(character) : 0
    }
}
