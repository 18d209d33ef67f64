import NIOCore

/// Bytes to be written to a connection. Small pieces are appended to the previous buffer if it has room, because one
/// buffer costs NIO and the system less than several.
struct PendingOutput {
    /// The size in bytes up to which a piece of a body is copied to the previous buffer.
    static let small = 4096

    private var last: ByteBuffer?

    /// - Returns: the previous buffer, to be written before `bytes`; `nil`: none.
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
