import Verbatim

/// Reads access tokens and refuses everything that an `AccessTokenSigner` with one of the keys would not have written
/// (RFC 8725, RFC 9068 §4).
///
/// The header may hold `alg`, `typ` and `kid` only: what this verifier does not need (`crit`, `jwk`, `jku`, `x5c`,
/// `b64`, …) it does not ignore but refuse. May be used by any number of threads at once.
public struct AccessTokenVerifier: Sendable {
    /// Bytes of the longest token that is looked at.
    public static let maximumLength = 8192

    private let issuer: VerbatimString
    private let audience: VerbatimString
    private let leeway: Int64
    private let contexts: [VerbatimString: ContextPool<RSAContext>]
    /// The same by the encoded header that the key's signers write, so that it is seldom read.
    private let contextsByHeader: [ArraySlice<UInt8>: ContextPool<RSAContext>]

    /// - Parameter leeway: seconds by which `exp` and `nbf` may be missed, for clocks that differ.
    /// - Throws: `cryptography`, when OpenSSL does not take a key.
    public init(
        issuer: String, audience: String, keys: VerificationKeySet, leeway: Int64 = 0
    ) throws(AccessTokenError) {
        self.issuer = VerbatimString(issuer)
        self.audience = VerbatimString(audience)
        self.leeway = leeway
        var contexts: [VerbatimString: ContextPool<RSAContext>] = [:]
        for (kid, key) in keys.keys {
            contexts[kid] = try ContextPool { () throws(AccessTokenError) in
                try RSAContext(EVPKey(modulus: key.modulus, exponent: key.exponent), for: .verification)
            }
        }
        self.contexts = contexts
        contextsByHeader = Dictionary(
            uniqueKeysWithValues: contexts.map { kid, pool in (JOSEHeader.encoded(kid: kid.text)[...], pool) })
    }

    /// - Parameters:
    ///   - token: the compact form, without `Bearer`.
    ///   - now: seconds since 1970.
    /// - Throws: see `AccessTokenError.Code`; `unknownKey` may be worth fetching keys for, all others are final.
    public func verify(_ token: [UInt8], now: Int64) throws(AccessTokenError) -> AccessTokenClaims {
        guard token.count <= Self.maximumLength else {
            throw AccessTokenError(.tooLong, "The token is longer than \(Self.maximumLength) bytes.")
        }
        let parts = try CompactParts(token)
        let pool = try pool(for: parts.header)
        guard let signature = Base64URL.decode(parts.signature) else {
            throw .malformed("The signature is not canonical base64url.")
        }
        let isGenuine = try pool.withContext { (context) throws(AccessTokenError) in
            try context.verifies(signature, over: parts.signingInput)
        }
        guard isGenuine else { throw AccessTokenError(.badSignature, "The signature is not the key's.") }

        guard let payload = Base64URL.decode(parts.payload) else {
            throw .malformed("The claims are not canonical base64url.")
        }
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

    private func pool(for header: ArraySlice<UInt8>) throws(AccessTokenError) -> ContextPool<RSAContext> {
        if let pool = contextsByHeader[header] { return pool }
        guard let pool = contexts[try JOSEHeader(header).kid] else {
            throw AccessTokenError(.unknownKey, "No key has the token's kid.")
        }
        return pool
    }

    /// As `verify(_:now:)` for bytes.
    public func verify(_ token: String, now: Int64) throws(AccessTokenError) -> AccessTokenClaims {
        try verify(Array(token.utf8), now: now)
    }
}
