import NIOCore

/// What stands before each frame of HTTP/2 (RFC 9113 §4.1).
struct HTTP2FrameHeader {
    static let size = 9

    static let (data, headers, rstStream, settings) = (UInt8(0), UInt8(1), UInt8(3), UInt8(4))
    static let (goAway, windowUpdate, continuation) = (UInt8(7), UInt8(8), UInt8(9))
    /// END_STREAM of DATA and HEADERS, ACK of SETTINGS.
    private static let firstFlag: UInt8 = 1
    private static let endHeaders: UInt8 = 4
    /// Bytes of a frame's payload that every peer takes (RFC 9113 §4.2).
    static let mostPayload = 16_384

    /// Of what follows.
    var length: Int
    var type: UInt8
    private var flags: UInt8
    var stream: UInt32

    /// - Returns: `nil` when there are fewer bytes than a header has.
    init?(_ bytes: ByteBuffer, at index: Int) {
        guard
            let (high, low, type, flags, stream) = bytes.getMultipleIntegers(
                at: index, as: (UInt16, UInt8, UInt8, UInt8, UInt32).self)
        else { return nil }
        length = Int(high) << 8 | Int(low)
        self.type = type
        self.flags = flags
        self.stream = stream & 0x7FFF_FFFF
    }

    private init(length: Int, type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0) {
        self.length = length
        self.type = type
        self.flags = flags
        self.stream = stream
    }

    var endsStream: Bool { flags & Self.firstFlag != 0 && (type == Self.data || type == Self.headers) }
    var isSettings: Bool { type == Self.settings && flags & Self.firstFlag == 0 }
    var isSettingsAcknowledgement: Bool { type == Self.settings && flags & Self.firstFlag != 0 && length == 0 }

    private func frame(_ payload: UInt32...) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeMultipleIntegers(UInt16(length >> 8), UInt8(length & 0xFF), type, flags, stream)
        for word in payload { bytes.writeInteger(word) }
        return bytes
    }

    static let settingsAcknowledgement = HTTP2FrameHeader(length: 0, type: settings, flags: firstFlag).frame()

    static func reset(_ stream: UInt32, _ code: UInt32) -> ByteBuffer {
        HTTP2FrameHeader(length: 4, type: rstStream, stream: stream).frame(code)
    }

    /// - Parameter stream: 0 is the whole connection.
    static func windowUpdate(_ stream: UInt32 = 0, by increment: Int) -> ByteBuffer {
        HTTP2FrameHeader(length: 4, type: windowUpdate, stream: stream).frame(UInt32(increment))
    }

    /// - Parameter last: the last stream that was looked at.
    static func goAway(after last: UInt32, _ code: UInt32) -> ByteBuffer {
        HTTP2FrameHeader(length: 8, type: goAway).frame(last, code)
    }

    /// Changes a parameter of SETTINGS wherever the frame at `index` has it (RFC 9113 §6.5.1).
    func changeSetting(_ parameter: UInt16, in bytes: inout ByteBuffer, at index: Int, _ change: (UInt32) -> UInt32) {
        let first = index + Self.size
        for place in stride(from: first, through: first + length - 6, by: 6) {
            guard let (name, value) = bytes.getMultipleIntegers(at: place, as: (UInt16, UInt32).self),
                name == parameter, change(value) != value
            else { continue }
            bytes.setInteger(change(value), at: place + 2)
        }
    }

    /// Adds fields to HEADERS, whose frame is all that `bytes` hold, and cuts them into frames that every peer takes.
    func appending(_ fields: ByteBuffer, to bytes: ByteBuffer) -> ByteBuffer {
        var payload = bytes
        payload.moveReaderIndex(forwardBy: Self.size)
        payload.writeImmutableBuffer(fields)
        var output = ByteBufferAllocator().buffer(capacity: payload.readableBytes + 8 * Self.size)
        var next = HTTP2FrameHeader(length: 0, type: type, flags: flags & ~Self.endHeaders, stream: stream)
        while payload.readableBytes > 0 {
            next.length = min(payload.readableBytes, Self.mostPayload)
            if next.length == payload.readableBytes { next.flags |= Self.endHeaders }
            output.writeImmutableBuffer(next.frame())
            output.writeImmutableBuffer(payload.readSlice(length: next.length)!)
            next = HTTP2FrameHeader(length: 0, type: Self.continuation, stream: stream)
        }
        return output
    }
}

extension ByteBuffer {
    /// Writes a field of a header block as a literal without indexing and without Huffman's code (RFC 7541 §6.2.2):
    /// it reads and changes nothing of the encoder's table.
    mutating func writeLiteralField(_ name: String, _ value: String) {
        writeInteger(UInt8(0))
        for text in [name, value] {
            writePrefixedLength(text.utf8.count)
            writeString(text)
        }
    }

    /// An integer with a prefix of seven bits (RFC 7541 §5.1).
    private mutating func writePrefixedLength(_ length: Int) {
        let most = 127
        guard length >= most else {
            writeInteger(UInt8(length))
            return
        }
        writeInteger(UInt8(most))
        var rest = length - most
        while rest >= 128 {
            writeInteger(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        writeInteger(UInt8(rest))
    }
}
