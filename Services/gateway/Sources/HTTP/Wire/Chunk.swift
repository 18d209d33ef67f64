import NIOCore

extension ByteBuffer {
    /// Gives these bytes as one chunk to `write`: a small one in one piece, a large one without copying it.
    func asChunk(_ write: (ByteBuffer) -> Void) {
        let isSmall = readableBytes <= PendingOutput.small
        // The size has at most 16 digits.
        var buffer = ByteBufferAllocator().buffer(capacity: 20 + (isSmall ? readableBytes : 0))
        buffer.writeString(String(readableBytes, radix: 16))
        buffer.writeStaticString("\r\n")
        if isSmall {
            buffer.writeImmutableBuffer(self)
            buffer.writeStaticString("\r\n")
            write(buffer)
        } else {
            write(buffer)
            write(self)
            write(Self.lineEnd)
        }
    }

    private static let lineEnd = ByteBuffer(string: "\r\n")

    static func lastChunk(_ trailers: ByteBuffer?) -> ByteBuffer {
        var buffer = ByteBuffer(string: "0\r\n")
        if var trailers { buffer.writeBuffer(&trailers) }
        buffer.writeStaticString("\r\n")
        return buffer
    }
}
