import NIOCore

/// What is about to be written to a connection: small pieces go into the buffer before them, where it has room, because
/// one buffer costs NIO and the system less than several.
struct PendingOutput {
    /// Bytes of a body that are copied rather than written by themselves.
    static let small = 4096

    private var last: ByteBuffer?

    /// - Returns: what is to be written before `bytes`.
    mutating func add(_ bytes: ByteBuffer) -> ByteBuffer? {
        guard var buffer = last.take() else {
            last = bytes
            return nil
        }
        guard bytes.readableBytes <= min(Self.small, buffer.writableBytes) else {
            last = bytes
            return buffer
        }
        buffer.writeImmutableBuffer(bytes)
        last = buffer
        return nil
    }

    mutating func take() -> ByteBuffer? { last.take() }
}
