/// One frame of HTTP/2 (RFC 9113 §4.1), well-formed or not.
struct RawHTTP2Frame: Sendable {
    static let (data, headers, rstStream, settings) = (UInt8(0), UInt8(1), UInt8(3), UInt8(4))
    static let (ping, goAway, windowUpdate) = (UInt8(6), UInt8(7), UInt8(8))

    var type: UInt8
    var flags: UInt8 = 0
    var stream: UInt32
    var payload: [UInt8] = []

    /// What RST_STREAM says.
    var resetCode: UInt32? {
        type == RawHTTP2Frame.rstStream ? payload.reduce(0) { $0 << 8 | UInt32($1) } : nil
    }

    var endsHeaders: Bool { flags & 4 == 4 }

    var endsStream: Bool { flags & 1 == 1 && (type == RawHTTP2Frame.data || type == RawHTTP2Frame.headers) }

    var bytes: [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags]
            + Self.bytes(stream) + payload
    }

    /// SETTINGS_HEADER_TABLE_SIZE alone.
    static func headerTable(_ size: UInt32) -> RawHTTP2Frame {
        RawHTTP2Frame(type: settings, stream: 0, payload: [0, 1] + bytes(size))
    }

    /// SETTINGS_INITIAL_WINDOW_SIZE alone.
    static func initialWindow(_ size: UInt32) -> RawHTTP2Frame {
        RawHTTP2Frame(type: settings, stream: 0, payload: [0, 4] + bytes(size))
    }

    static func windowUpdate(_ stream: UInt32, by increment: UInt32) -> RawHTTP2Frame {
        RawHTTP2Frame(type: windowUpdate, stream: stream, payload: bytes(increment))
    }

    static func data(_ stream: UInt32, _ text: String = "", ends: Bool = false) -> RawHTTP2Frame {
        data(stream, text.utf8, ends: ends)
    }

    static func data(_ stream: UInt32, _ bytes: some Sequence<UInt8>, ends: Bool = false) -> RawHTTP2Frame {
        RawHTTP2Frame(type: data, flags: ends ? 1 : 0, stream: stream, payload: Array(bytes))
    }

    /// Names and values as bytes, without compression.
    static func headers(_ stream: UInt32, _ fields: [(String, [UInt8])], ends: Bool) -> RawHTTP2Frame {
        func string(_ bytes: [UInt8]) -> [UInt8] {
            guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
            var (rest, length) = (bytes.count - 127, [UInt8(127)])
            while rest >= 128 {
                length.append(UInt8(rest & 127 | 128))
                rest >>= 7
            }
            return length + [UInt8(rest)] + bytes
        }
        // Literals without indexing (RFC 7541 §6.2.2).
        var block: [UInt8] = []
        for (name, value) in fields { block += [0] + string(Array(name.utf8)) + string(value) }
        return RawHTTP2Frame(type: headers, flags: ends ? 5 : 4, stream: stream, payload: block)
    }

    static func request(
        _ stream: UInt32, _ method: String, _ path: String, _ fields: [(String, [UInt8])] = [], ends: Bool
    ) -> RawHTTP2Frame {
        let head = [(":method", method), (":scheme", "https"), (":authority", "gatehouse.test"), (":path", path)]
        return headers(stream, head.map { ($0, Array($1.utf8)) } + fields, ends: ends)
    }

    // MARK: What a server sent

    /// The frame that begins with the nine bytes of `head`, without its payload, and that payload's length.
    static func head(_ head: ArraySlice<UInt8>) -> (RawHTTP2Frame, length: Int) {
        let bytes = Array(head)
        let length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        let stream = bytes[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (RawHTTP2Frame(type: bytes[3], flags: bytes[4], stream: stream), length)
    }

    struct Outcome: Equatable {
        /// Bytes of the response's body.
        var count = 0
        var isComplete = false
        /// What RST_STREAM says.
        var resetCode: UInt32?
        var hasHead = false
    }

    /// What `bytes`, which a server sent, say of the response on a stream.
    static func outcome(in bytes: [UInt8], stream: UInt32 = 1) -> Outcome {
        var (outcome, index) = (Outcome(), 0)
        while index + 9 <= bytes.count {
            let (found, length) = head(bytes[index..<(index + 9)])
            guard index + 9 + length <= bytes.count else { break }
            var frame = found
            index += 9 + length
            guard frame.stream == stream else { continue }
            if frame.type == data { outcome.count += length }
            if frame.type == headers { outcome.hasHead = true }
            if frame.endsStream { outcome.isComplete = true }
            if frame.type == rstStream {
                frame.payload = Array(bytes[(index - length)..<index])
                outcome.resetCode = frame.resetCode
            }
        }
        return outcome
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
}
