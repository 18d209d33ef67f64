// Pure: no I/O, no clock.

/// Finds where frames begin in one direction of a WebSocket (RFC 6455 §5.2). Between two frames the gateway may add its
/// own.
struct WebSocketFrames: Sendable {
    /// Bytes of the current frame that are still to come.
    private var remaining: UInt64 = 0
    /// The beginning of a frame's header.
    private var header: [UInt8] = []

    /// Whether the next byte begins a frame.
    var isAtBoundary: Bool { remaining == 0 && header.isEmpty }

    /// Bytes were relayed.
    mutating func note(_ bytes: some Collection<UInt8>) {
        var rest = bytes[...]
        while !rest.isEmpty {
            if remaining > 0 {
                let count = Int(min(remaining, UInt64(rest.count)))
                rest = rest.dropFirst(count)
                remaining -= UInt64(count)
                continue
            }
            header.append(rest.removeFirst())
            guard header.count >= 2, header.count == Self.headerLength(header[1]) else { continue }
            remaining = Self.payloadLength(header)
            header.removeAll(keepingCapacity: true)
        }
    }

    /// - Parameter second: the header's second byte, with the mask bit and the encoding of the length.
    private static func headerLength(_ second: UInt8) -> Int {
        let extended = second & 127 == 127 ? 8 : second & 127 == 126 ? 2 : 0
        return 2 + extended + (second & 128 == 0 ? 0 : 4)
    }

    private static func payloadLength(_ header: [UInt8]) -> UInt64 {
        switch header[1] & 127 {
        case 127: header[2..<10].reduce(0) { $0 << 8 | UInt64($1) }
        case 126: UInt64(header[2]) << 8 | UInt64(header[3])
        case let length: UInt64(length)
        }
    }

    /// A Close frame with the status "going away" (RFC 6455 §5.5.1, §7.4.1).
    ///
    /// - Parameter mask: a random number, for a frame to a server; `nil` for one to a client (§5.3).
    static func goingAway(mask: UInt32?) -> [UInt8] {
        let code: [UInt8] = [0x03, 0xE9]
        guard let mask else { return [0x88, 2] + code }
        let key = (0..<4).map { UInt8(truncatingIfNeeded: mask >> (24 - 8 * $0)) }
        return [0x88, 0x82] + key + zip(code, key).map { $0 ^ $1 }
    }
}
