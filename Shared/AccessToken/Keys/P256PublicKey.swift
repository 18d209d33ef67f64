import COpenSSL

/// A public key on the curve P-256 (RFC 7518 §6.2).
public struct P256PublicKey: Sendable, Equatable {
    /// The point's coordinates, big-endian, 32 bytes each.
    let x: [UInt8]
    let y: [UInt8]

    /// - Throws: `unreadableKey`, for what is no point of the curve.
    init(x: [UInt8], y: [UInt8]) throws(AccessTokenError) {
        // Of the full length always (RFC 7518 §6.2.1.2).
        guard x.count == 32, y.count == 32 else {
            throw AccessTokenError(.unreadableKey, "A P-256 key's coordinates must have 32 bytes.")
        }
        let key: EVPKey
        do throws(AccessTokenError) {
            key = try EVPKey(x: x, y: y)
        } catch {
            throw AccessTokenError(.unreadableKey, "The key is no point of P-256.")
        }
        let context = EVP_PKEY_CTX_new(key.pointer, nil)
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_public_check(context) == 1 else {
            ERR_clear_error()
            throw AccessTokenError(.unreadableKey, "The key is no point of P-256.")
        }
        self.x = x
        self.y = y
    }
}

extension EVPKey {
    /// A public key on P-256 from its coordinates. OpenSSL refuses those that are not on the curve.
    convenience init(x: [UInt8], y: [UInt8]) throws(AccessTokenError) {
        // Not compressed (SEC 1, 2.3.3).
        let point = [0x04] + x + y
        let builder = OSSL_PARAM_BLD_new()
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer {
            OSSL_PARAM_BLD_free(builder)
            EVP_PKEY_CTX_free(context)
        }
        var pointer: OpaquePointer?
        point.withUnsafeBytes { point in
            guard
                OSSL_PARAM_BLD_push_utf8_string(builder, Self.constant("group"), Self.constant("prime256v1"), 0) == 1,
                OSSL_PARAM_BLD_push_octet_string(builder, Self.constant("pub"), point.baseAddress, point.count) == 1,
                let parameters = OSSL_PARAM_BLD_to_param(builder)
            else { return }
            defer { OSSL_PARAM_free(parameters) }
            if EVP_PKEY_fromdata_init(context) == 1 {
                EVP_PKEY_fromdata(
                    context, &pointer, OSSL_KEYMGMT_SELECT_DOMAIN_PARAMETERS | OSSL_KEYMGMT_SELECT_PUBLIC_KEY,
                    parameters)
            }
        }
        try self.init(owning: pointer)
    }
}
