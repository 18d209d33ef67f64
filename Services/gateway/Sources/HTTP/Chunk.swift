import NIOCore

extension ByteBuffer {
    /// What stands before a chunk of these bytes.
    var chunkHead: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeString(String(readableBytes, radix: 16))
        buffer.writeStaticString("\r\n")
        return buffer
    }

    static let lineEnd = ByteBuffer(string: "\r\n")

    static func lastChunk(_ trailers: ByteBuffer?) -> ByteBuffer {
        var buffer = ByteBuffer(string: "0\r\n")
        if var trailers { buffer.writeBuffer(&trailers) }
        buffer.writeStaticString("\r\n")
        return buffer
    }
}
