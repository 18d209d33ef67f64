import Foundation

extension UUID {
    /// A random identifier (RFC 9562 §5.4). `UUID()` would do, but opens the system's random device each time, which
    /// costs more than all other claims of an access token.
    static func random() -> UUID {
        var halves = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
        return withUnsafeMutableBytes(of: &halves) { bytes in
            bytes[6] = bytes[6] & 0x0f | 0x40
            bytes[8] = bytes[8] & 0x3f | 0x80
            return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
        }
    }
}
