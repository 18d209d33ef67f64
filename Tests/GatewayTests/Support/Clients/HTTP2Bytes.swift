import NIOCore
import NIOHPACK

/// The bytes of HTTP/2 frames, for clients that send what no library would (RFC 9113 §4.1).
struct HTTP2Bytes {
    private(set) var buffer = ByteBuffer()
    private var encoder = HPACKEncoder(allocator: ByteBufferAllocator())

    /// Begins a connection.
    ///
    /// - Parameter window: what the client takes of each answer without saying so again.
    init(window: Int32 = .max) {
        buffer.writeString("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        // SETTINGS_INITIAL_WINDOW_SIZE.
        var settings = ByteBuffer()
        settings.writeInteger(UInt16(4))
        settings.writeInteger(UInt32(window))
        frame(type: 4, stream: 0, settings)
        frame(type: 8, stream: 0, ByteBuffer(integer: UInt32(Int32.max) - 65_535))
    }

    mutating func headers(_ fields: HPACKHeaders, stream: UInt32 = 1, endStream: Bool) throws {
        var block = ByteBuffer()
        try encoder.encode(headers: fields, to: &block)
        frame(type: 1, flags: endStream ? 5 : 4, stream: stream, block)
    }

    mutating func data(_ bytes: some Sequence<UInt8>, stream: UInt32 = 1, endStream: Bool = false) {
        frame(type: 0, flags: endStream ? 1 : 0, stream: stream, ByteBuffer(bytes: bytes))
    }

    private mutating func frame(type: UInt8, flags: UInt8 = 0, stream: UInt32, _ payload: ByteBuffer) {
        buffer.writeInteger(UInt32(payload.readableBytes) << 8 | UInt32(type))
        buffer.writeInteger(flags)
        buffer.writeInteger(stream)
        buffer.writeImmutableBuffer(payload)
    }

    struct Answer: Equatable {
        /// Bytes of its body.
        var count = 0
        var isComplete = false
        /// What RST_STREAM says.
        var resetCode: Int?
        var hasHead = false
    }

    /// What `bytes`, which a server sent, say of the answer on a stream.
    static func answer(in bytes: [UInt8], stream: UInt32 = 1) -> Answer {
        func number(at index: Int, _ count: Int) -> Int {
            bytes[index..<(index + count)].reduce(0) { $0 << 8 | Int($1) }
        }
        var (answer, index) = (Answer(), 0)
        while index + 9 <= bytes.count {
            let length = number(at: index, 3)
            guard index + 9 + length <= bytes.count else { break }
            let (type, flags) = (bytes[index + 3], bytes[index + 4])
            if number(at: index + 5, 4) == Int(stream) {
                if type == 0 { answer.count += length }
                if type == 1 { answer.hasHead = true }
                if type == 0 || type == 1, flags & 1 == 1 { answer.isComplete = true }
                if type == 3 { answer.resetCode = number(at: index + 9, 4) }
            }
            index += 9 + length
        }
        return answer
    }
}
