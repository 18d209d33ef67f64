import COpenSSL
import Threads

/// Text in PEM form (RFC 7468). Lines outside the blocks, such as comments, are passed over.
enum PEM {
    struct Block {
        var label: String
        var bytes: [UInt8]
    }

    /// All blocks of the text. Throws when a block is damaged, or when there is none.
    static func blocks(in text: String) throws(AccessTokenError) -> [Block] {
        OpenSSLAtExit.keepLocks()
        let source = try source(text)
        defer { BIO_free(source) }
        var blocks: [Block] = []
        while true {
            var label, header: UnsafeMutablePointer<CChar>?
            var data: UnsafeMutablePointer<UInt8>?
            var length = 0
            guard PEM_read_bio(source, &label, &header, &data, &length) == 1, let label, let data else { break }
            defer {
                CRYPTO_free(label, #file, #line)
                CRYPTO_free(header, #file, #line)
                CRYPTO_clear_free(data, length, #file, #line)
            }
            blocks.append(
                Block(label: String(cString: label), bytes: Array(UnsafeBufferPointer(start: data, count: length))))
        }
        // The loop ends in an error always; only "no further block" is a good one.
        let reason = Int32(truncatingIfNeeded: ERR_peek_last_error() & 0x7F_FFFF)
        ERR_clear_error()
        guard reason == PEM_R_NO_START_LINE, !blocks.isEmpty else {
            throw AccessTokenError(.unreadableKey, "The text holds no whole PEM block.")
        }
        return blocks
    }

    /// A BIO with a copy of the text, which the caller frees.
    static func source(_ text: String) throws(AccessTokenError) -> OpaquePointer {
        let bytes = Array(text.utf8)
        guard let source = BIO_new(BIO_s_mem()) else { throw .openSSLFailed() }
        // An empty text is an empty source; of it OpenSSL would write nothing and call that a failure.
        guard bytes.isEmpty || BIO_write(source, bytes, Int32(bytes.count)) == bytes.count else {
            BIO_free(source)
            throw .openSSLFailed()
        }
        return source
    }

    /// What `write` puts into a memory BIO.
    static func text(_ write: (OpaquePointer) -> Int32) throws(AccessTokenError) -> String {
        guard let sink = BIO_new(BIO_s_mem()) else { throw .openSSLFailed() }
        defer { BIO_free(sink) }
        guard write(sink) == 1 else { throw .openSSLFailed() }
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(sink)))
        guard BIO_read(sink, &bytes, Int32(bytes.count)) == bytes.count else { throw .openSSLFailed() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
