import GatehouseBytes

/// Verifies access tokens, and refuses everything that an `AccessTokenSigner` with one of the keys would not have
/// written (RFC 8725, RFC 9068 §4).
///
/// The header may hold `alg`, `typ` and `kid` only. The verifier refuses all other members (`crit`, `jwk`, `jku`,
/// `x5c`, `b64`, …) instead of ignoring them. Any number of threads may use it at once.
public struct AccessTokenVerifier: Sendable {
    /// The length of the longest accepted token in bytes.
    public static let maximumLength = 8192

    private let issuer: VerbatimString
    private let audience: VerbatimString
    private let leeway: Int64
    private let verifiers: [VerbatimString: SignatureVerifier]
    /// The keys by the encoded header that their signers write, so that headers rarely have to be parsed.
    private let verifiersByHeader: [ArraySlice<UInt8>: SignatureVerifier]

    /// - Parameter leeway: the tolerance for `exp` and `nbf` in seconds, because clocks differ.
    /// - Throws: `cryptography`, when OpenSSL does not accept a key.
    public init(
        issuer: String, audience: String, keys: VerificationKeySet, leeway: Int64 = 0
    ) throws(AccessTokenError) {
        self.issuer = VerbatimString(issuer)
        self.audience = VerbatimString(audience)
        self.leeway = leeway
        var verifiers: [VerbatimString: SignatureVerifier] = [:]
        for (name, key) in keys.keys where name.algorithm == .rs256 {
            verifiers[name.kid] = try SignatureVerifier(key)
        }
        self.verifiers = verifiers
        verifiersByHeader = Dictionary(
            uniqueKeysWithValues: verifiers.map { kid, key in (JOSEHeader.encoded(kid: kid.text)[...], key) })
    }

    /// - Parameters:
    ///   - token: the compact form, without `Bearer`.
    ///   - now: seconds since 1970.
    /// - Throws: see `AccessTokenError.Code`. After `unknownKey` a fetch of the keys may help. All other errors are
    ///   final.
    public func verify(_ token: [UInt8], now: Int64) throws(AccessTokenError) -> AccessTokenClaims {
        guard token.count <= Self.maximumLength else { throw .tooLong() }
        let parts = try CompactParts(token)
        let payload = try key(for: parts.header).payload(of: parts)
        let (claims, notBefore) = try AccessTokenClaims.read(json: payload)
        guard VerbatimString(claims.issuer) == issuer else {
            throw AccessTokenError(.wrongIssuer, "Another issuer's token.")
        }
        guard VerbatimString(claims.audience) == audience else {
            throw AccessTokenError(.wrongAudience, "Another audience's token.")
        }
        guard now < claims.expiresAt + leeway else { throw AccessTokenError(.expired, "The token has expired.") }
        if let notBefore, now < notBefore - leeway {
            throw AccessTokenError(.notYetValid, "The token is not valid yet.")
        }
        return claims
    }

    private func key(for header: ArraySlice<UInt8>) throws(AccessTokenError) -> SignatureVerifier {
        if let key = verifiersByHeader[header] { return key }
        guard let key = verifiers[try JOSEHeader(own: header).kid] else {
            throw AccessTokenError(.unknownKey, "No key has the token's kid.")
        }
        return key
    }

    /// The same for the token as a `String`.
    public func verify(_ token: String, now: Int64) throws(AccessTokenError) -> AccessTokenClaims {
        try verify(Array(token.utf8), now: now)
    }
}

/// Writes access tokens: JWS in compact form, `alg` RS256, `typ` `at+jwt`, `kid` the key's thumbprint.
///
/// Any number of threads may use it at once.
public struct AccessTokenSigner: Sendable {
    /// The start of every token: the encoded header and its dot.
    private let prefix: [UInt8]
    private let signer: RSASigner
    public var publicKey: RSAPublicKey { signer.publicKey }

    /// - Throws: `cryptography`, when OpenSSL does not accept the key.
    public init(key: RSAPrivateKey) throws(AccessTokenError) {
        prefix = JOSEHeader.encoded(kid: key.publicKey.thumbprint) + [UInt8(ascii: ".")]
        signer = try RSASigner(key)
    }

    /// Signs `claims` unchanged. The caller sets times, issuer and audience.
    ///
    /// - Throws: `tooLong`, when no verifier would accept the token; `cryptography`
    public func sign(_ claims: AccessTokenClaims) throws(AccessTokenError) -> String {
        var token = prefix
        token += Base64URL.encode(claims.json)
        let signature = try signer.signature(over: token)
        token.append(UInt8(ascii: "."))
        token += Base64URL.encode(signature)
        guard token.count <= AccessTokenVerifier.maximumLength else {
            throw AccessTokenError(.tooLong, "The claims make a token of \(token.count) bytes.")
        }
        return String(decoding: token, as: UTF8.self)
    }
}
