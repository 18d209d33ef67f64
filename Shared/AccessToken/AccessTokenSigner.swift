import Bytes

/// Writes access tokens: JWS in compact form, `alg` RS256, `typ` `at+jwt`, `kid` the key's thumbprint.
///
/// May be used by any number of threads at once.
public struct AccessTokenSigner: Sendable {
    /// What every token begins with: the encoded header and its dot.
    private let prefix: [UInt8]
    private let contexts: ContextPool<RSAContext>
    public let publicKey: RSAPublicKey

    /// - Throws: `cryptography`, when OpenSSL does not take the key.
    public init(key: RSAPrivateKey) throws(AccessTokenError) {
        prefix = JOSEHeader.encoded(kid: key.publicKey.thumbprint) + [UInt8(ascii: ".")]
        publicKey = key.publicKey
        contexts = try ContextPool { () throws(AccessTokenError) in try RSAContext(key.copy(), for: .signing) }
    }

    /// Signs `claims` as they are: times, issuer and audience are the caller's to set.
    ///
    /// - Throws: `tooLong`, when no verifier would take the token; `cryptography`
    public func sign(_ claims: AccessTokenClaims) throws(AccessTokenError) -> String {
        var token = prefix
        token += Base64URL.encode(claims.json)
        let signature = try contexts.withContext { (context) throws(AccessTokenError) in
            try context.sign(token[...])
        }
        token.append(UInt8(ascii: "."))
        token += Base64URL.encode(signature)
        guard token.count <= AccessTokenVerifier.maximumLength else {
            throw AccessTokenError(.tooLong, "The claims make a token of \(token.count) bytes.")
        }
        return String(decoding: token, as: UTF8.self)
    }
}
