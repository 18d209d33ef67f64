import Foundation

/// Lays JSON out for a person: every word stands as the server wrote it, only the space between changes.
enum JSONLayout {
    /// - Returns: `nil` for what is no JSON.
    static func indented(_ data: Data) -> String? {
        guard (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil else { return nil }
        var layout = Layout()
        for byte in data { layout.take(byte) }
        return String(decoding: layout.result, as: UTF8.self)
    }

    private struct Layout {
        var result: [UInt8] = []
        private var depth = 0
        private var isInString = false
        private var isEscaped = false
        /// After an opening bracket: whether there is anything in it shows with the next word.
        private var isAfterOpening = false

        mutating func take(_ byte: UInt8) {
            if isInString {
                result.append(byte)
                if !isEscaped && byte == UInt8(ascii: "\"") { isInString = false }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                return
            }
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): return
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if !isAfterOpening { breakLine() }
                isAfterOpening = false
                result.append(byte)
                return
            default: break
            }
            if isAfterOpening { breakLine() }
            isAfterOpening = false
            result.append(byte)
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                isAfterOpening = true
            case UInt8(ascii: ","): breakLine()
            case UInt8(ascii: ":"): result.append(UInt8(ascii: " "))
            case UInt8(ascii: "\""): isInString = true
            default: break
            }
        }

        private mutating func breakLine() {
            result.append(UInt8(ascii: "\n"))
            result += Array(repeating: UInt8(ascii: " "), count: 2 * depth)
        }
    }
}
