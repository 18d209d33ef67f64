import NIOCore

/// One word of a command: its name, a key, a value. Written as a literal, with interpolation, or from bytes.
public struct RedisArgument: Sendable, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
    private enum Storage {
        case string(String)
        case bytes([UInt8])
        case integer(Int)
    }

    private let storage: Storage

    public init(_ value: String) { storage = .string(value) }
    public init(_ value: [UInt8]) { storage = .bytes(value) }
    public init(_ value: Int) { storage = .integer(value) }
    public init(stringLiteral value: String) { storage = .string(value) }
    public init(integerLiteral value: Int) { storage = .integer(value) }
}

extension RedisArgument {
    /// The word, if it is text.
    var text: String? {
        guard case .string(let text) = storage else { return nil }
        return text
    }

    /// Appends `arguments` as a command: a RESP array of bulk strings.
    static func write(_ arguments: [RedisArgument], to buffer: inout ByteBuffer) {
        buffer.writeHeader(UInt8(ascii: "*"), arguments.count)
        for argument in arguments {
            argument.write(to: &buffer)
        }
    }

    private func write(to buffer: inout ByteBuffer) {
        switch storage {
        case .string(let text):
            buffer.writeHeader(UInt8(ascii: "$"), text.utf8.count)
            buffer.writeString(text)
        case .bytes(let bytes):
            buffer.writeHeader(UInt8(ascii: "$"), bytes.count)
            buffer.writeBytes(bytes)
        case .integer(let value):
            let text = String(value)
            buffer.writeHeader(UInt8(ascii: "$"), text.utf8.count)
            buffer.writeString(text)
        }
        buffer.writeLineEnd()
    }
}

extension ByteBuffer {
    fileprivate mutating func writeHeader(_ type: UInt8, _ count: Int) {
        writeInteger(type)
        if count < 10 {
            writeInteger(UInt8(ascii: "0") + UInt8(count))
        } else {
            writeString(String(count))
        }
        writeLineEnd()
    }

    fileprivate mutating func writeLineEnd() {
        writeInteger(UInt16(0x0D0A))
    }
}
