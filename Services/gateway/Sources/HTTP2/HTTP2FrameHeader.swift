import NIOCore

/// The header of each frame of HTTP/2 (RFC 9113 §4.1).
struct HTTP2FrameHeader {
    static let size = 9

    static let (data, headers, rstStream, settings) = (UInt8(0), UInt8(1), UInt8(3), UInt8(4))
    static let (priority, goAway, windowUpdate, continuation) = (UInt8(2), UInt8(7), UInt8(8), UInt8(9))
    /// END_STREAM of DATA and HEADERS, ACK of SETTINGS.
    private static let firstFlag: UInt8 = 1
    private static let endHeaders: UInt8 = 4
    private static let padded: UInt8 = 8
    /// Bytes of a frame's payload that every peer accepts (RFC 9113 §4.2).
    static let mostPayload = 16_384

    /// The length of the payload.
    var length: Int
    var type: UInt8
    private var flags: UInt8
    var stream: UInt32

    /// - Returns: `nil` when there are fewer bytes than a header has.
    init?(_ bytes: ByteBuffer, at index: Int) {
        guard index + Self.size <= bytes.writerIndex else { return nil }
        self = bytes.withUnsafeReadableBytes { HTTP2FrameHeader($0, at: index - bytes.readerIndex) }
    }

    /// - Parameter index: has as many bytes after it as a header has.
    init(_ bytes: UnsafeRawBufferPointer, at index: Int) {
        length = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
        type = bytes[index + 3]
        flags = bytes[index + 4]
        // The first bit has no meaning (RFC 9113 §4.1).
        stream = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: index + 5, as: UInt32.self)) & 0x7FFF_FFFF
    }

    private init(length: Int, type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0) {
        self.length = length
        self.type = type
        self.flags = flags
        self.stream = stream
    }

    var endsStream: Bool { flags & Self.firstFlag != 0 && (type == Self.data || type == Self.headers) }
    /// Of DATA. Flags that a type of frame does not define have no meaning (RFC 9113 §4.1).
    var isPadded: Bool { flags & Self.padded != 0 && type == Self.data }
    /// Whether the frame has no effect outside of a header block: PRIORITY, and types that the codec does not know (RFC
    /// 9113 §5.3.2, §5.5).
    var isWithoutEffect: Bool {
        type == Self.priority ? length == 5 && stream != 0 : type > Self.continuation && length <= Self.mostPayload
    }
    var isSettings: Bool { type == Self.settings && flags & Self.firstFlag == 0 }
    var isSettingsAcknowledgement: Bool { type == Self.settings && flags & Self.firstFlag != 0 && length == 0 }

    /// DATA, whose payload follows.
    static func data(_ stream: UInt32, length: Int, ends: Bool) -> ByteBuffer {
        HTTP2FrameHeader(length: length, type: data, flags: ends ? firstFlag : 0, stream: stream).frame()
    }

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

    /// - Parameter last: the last stream that was processed.
    static func goAway(after last: UInt32, _ code: UInt32) -> ByteBuffer {
        HTTP2FrameHeader(length: 8, type: goAway).frame(last, code)
    }

    /// Changes a parameter of SETTINGS wherever the frame at `index` has it (RFC 9113 §6.5.1).
    func changeSetting(_ parameter: UInt16, in bytes: inout ByteBuffer, at index: Int, _ change: (UInt32) -> UInt32) {
        let first = index + Self.size
        for offset in stride(from: first, through: first + length - 6, by: 6) {
            guard let (name, value) = bytes.getMultipleIntegers(at: offset, as: (UInt16, UInt32).self),
                name == parameter, change(value) != value
            else { continue }
            bytes.setInteger(change(value), at: offset + 2)
        }
    }

    /// Adds fields to the one HEADERS frame in `bytes`, and splits it into frames that every peer accepts.
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
    /// Writes a field of a header block as a literal without indexing and without Huffman coding (RFC 7541 §6.2.2). It
    /// does not use or change the encoder's table.
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
