/// A line that is typed without being shown. The terminal hands over each key as it is, so that Ctrl-C can end the
/// program in order: with the terminal as it was before.
struct SecretLine: Sendable {
    enum Step: Sendable, Equatable {
        case more
        case done(String)
        case cancelled
    }

    /// Bytes; what follows is dropped.
    static let longest = 4096

    private var bytes: [UInt8] = []

    mutating func take(_ key: UInt8) -> Step {
        switch key {
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return .done(String(decoding: bytes, as: UTF8.self))
        // Ctrl-C
        case 0x03: return .cancelled
        // Ctrl-D: the end, of a line that has begun or of everything.
        case 0x04: return bytes.isEmpty ? .cancelled : .done(String(decoding: bytes, as: UTF8.self))
        // Backspace, by either of its names: a character of several bytes goes as a whole.
        case 0x08, 0x7F:
            while let last = bytes.popLast(), last & 0b1100_0000 == 0b1000_0000 {}
        // Ctrl-U
        case 0x15: bytes.removeAll()
        case 0..<0x20: break
        default: if bytes.count < Self.longest { bytes.append(key) }
        }
        return .more
    }
}
