import CHiredis
import NIOCore

/// Turns bytes from the socket into answers: hiredis' incremental RESP reader.
///
/// Belongs to one event loop. An error is final, because later replies on the connection can no longer be delimited.
final class RedisReplyReader {
    private let reader: UnsafeMutablePointer<redisReader>
    private let maximumReplyBytes: Int
    /// The received bytes of the incomplete answer, including those that hiredis has already parsed.
    private var unfinishedBytes = 0

    init(maximumReplyBytes: Int) {
        guard let reader = redisReaderCreate() else { fatalError("hiredis found no memory for its reader") }
        self.reader = reader
        self.maximumReplyBytes = maximumReplyBytes
    }

    deinit {
        redisReaderFree(reader)
    }

    /// Passes received bytes to the reader.
    func feed(_ bytes: ByteBuffer) throws(RedisError) {
        let status = bytes.withUnsafeReadableBytes { bytes in
            redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard status == REDIS_OK else { throw failure() }
        unfinishedBytes += bytes.readableBytes
    }

    /// The next complete answer; `nil` if more bytes are needed.
    func next() throws(RedisError) -> Result<RedisValue, RedisError>? {
        var object: UnsafeMutableRawPointer?
        guard redisReaderGetReply(reader, &object) == REDIS_OK else { throw failure() }
        guard let object else {
            guard unfinishedBytes <= maximumReplyBytes else {
                throw RedisError(.protocolViolation, "An answer is larger than \(maximumReplyBytes) bytes.")
            }
            return nil
        }
        defer { freeReplyObject(object) }
        unfinishedBytes = reader.pointee.len - reader.pointee.pos
        let reply = object.assumingMemoryBound(to: redisReply.self)
        if reply.pointee.type == REDIS_REPLY_ERROR {
            return .failure(RedisError(serverMessage: Self.text(of: reply)))
        }
        return .success(Self.value(of: reply))
    }

    private static func value(of reply: UnsafeMutablePointer<redisReply>) -> RedisValue {
        switch reply.pointee.type {
        case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: .string(copy(of: reply))
        case REDIS_REPLY_INTEGER: .integer(reply.pointee.integer)
        case REDIS_REPLY_ARRAY:
            .array(
                UnsafeBufferPointer(start: reply.pointee.element, count: reply.pointee.elements).map {
                    $0.map { value(of: $0) } ?? .null
                })
        case REDIS_REPLY_ERROR: .error(text(of: reply))
        default: .null
        }
    }

    private static func bytes(of reply: UnsafeMutablePointer<redisReply>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: reply.pointee.str, count: reply.pointee.len)
    }

    /// Copies the bytes as a block. Element by element, a large answer would block the event loop.
    private static func copy(of reply: UnsafeMutablePointer<redisReply>) -> [UInt8] {
        let source = bytes(of: reply)
        return [UInt8](unsafeUninitializedCapacity: source.count) { target, count in
            UnsafeMutableRawBufferPointer(target).copyMemory(from: source)
            count = source.count
        }
    }

    private static func text(of reply: UnsafeMutablePointer<redisReply>) -> String {
        String(decoding: bytes(of: reply), as: UTF8.self)
    }

    private func failure() -> RedisError {
        let words = withUnsafeBytes(of: reader.pointee.errstr) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return RedisError(.protocolViolation, "The server's answer is not RESP: \(words)")
    }
}
