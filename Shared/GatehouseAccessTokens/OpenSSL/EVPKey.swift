import CGatehouseOpenSSL
import GatehouseThreads

/// Owns an `EVP_PKEY`.
///
/// Not `Sendable`: each context has its own key.
final class EVPKey {
    let pointer: OpaquePointer

    /// Takes ownership of the pointer that an OpenSSL function returned.
    init(owning pointer: OpaquePointer?) throws(AccessTokenError) {
        guard let pointer else {
            ERR_clear_error()
            throw AccessTokenError(.unreadableKey, "The key cannot be read.")
        }
        self.pointer = pointer
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    /// A public key from its modulus and exponent, both big-endian.
    convenience init(modulus: [UInt8], exponent: [UInt8]) throws(AccessTokenError) {
        OpenSSLAtExit.keepLocks()
        let n = BN_bin2bn(modulus, Int32(modulus.count), nil)
        let e = BN_bin2bn(exponent, Int32(exponent.count), nil)
        let builder = OSSL_PARAM_BLD_new()
        let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer {
            BN_free(n)
            BN_free(e)
            OSSL_PARAM_BLD_free(builder)
            EVP_PKEY_CTX_free(context)
        }
        var pointer: OpaquePointer?
        if OSSL_PARAM_BLD_push_BN(builder, Self.modulusName, n) == 1,
            OSSL_PARAM_BLD_push_BN(builder, Self.exponentName, e) == 1,
            let parameters = OSSL_PARAM_BLD_to_param(builder)
        {
            defer { OSSL_PARAM_free(parameters) }
            if EVP_PKEY_fromdata_init(context) == 1 {
                EVP_PKEY_fromdata(context, &pointer, OSSL_KEYMGMT_SELECT_PUBLIC_KEY, parameters)
            }
        }
        try self.init(owning: pointer)
    }

    // The builder keeps the pointers and reads them later, when the pointer of a String would be invalid.
    private static var modulusName: UnsafePointer<CChar> { constant("n") }
    private static var exponentName: UnsafePointer<CChar> { constant("e") }

    static func constant(_ name: StaticString) -> UnsafePointer<CChar> {
        UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    /// Whether this is a plain RSA key (not RSA-PSS, whose parameters forbid RS256).
    var isRSA: Bool { EVP_PKEY_get_base_id(pointer) == EVP_PKEY_RSA }

    /// A component of the key, big-endian without leading zeros.
    func number(_ name: String) throws(AccessTokenError) -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1 else {
            ERR_clear_error()
            throw AccessTokenError(.unreadableKey, "The key lacks a component.")
        }
        defer { BN_clear_free(number) }
        var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(number) + 7) / 8)
        BN_bn2bin(number, &bytes)
        return bytes
    }
}

/// Text in PEM form (RFC 7468). Lines outside the blocks, such as comments, are ignored.
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
        // The loop always ends with an error. Only "no further block" is the regular end.
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
        // OpenSSL reports a failure for a write of zero bytes, so an empty text is not written.
        guard bytes.isEmpty || BIO_write(source, bytes, Int32(bytes.count)) == bytes.count else {
            BIO_free(source)
            throw .openSSLFailed()
        }
        return source
    }

    /// The text that `write` writes to a memory BIO.
    static func text(_ write: (OpaquePointer) -> Int32) throws(AccessTokenError) -> String {
        guard let sink = BIO_new(BIO_s_mem()) else { throw .openSSLFailed() }
        defer { BIO_free(sink) }
        guard write(sink) == 1 else { throw .openSSLFailed() }
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(sink)))
        guard BIO_read(sink, &bytes, Int32(bytes.count)) == bytes.count else { throw .openSSLFailed() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
