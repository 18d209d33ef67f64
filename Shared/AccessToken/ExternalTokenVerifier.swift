import Bytes

/// Reads access tokens of an identity provider that is not Gatehouse, as its operator says that they look.
///
/// What would change how a token is read (`crit`, `b64`, `zip`, keys in the header) is refused as with Gatehouse's own.
/// May be used by any number of threads at once.
public struct ExternalTokenVerifier: Sendable {
    /// How an issuer's tokens look.
    public struct Form: Sendable, Equatable {
        public var algorithms: Set<SignatureAlgorithm>
        /// Whether tokens without the mark of access tokens are taken: with the `typ` `JWT`, or with none.
        public var takesAnyJWT: Bool
        /// Where roles stand; `nil`: nowhere.
        public var roles: ClaimPath?

        public init(
            algorithms: Set<SignatureAlgorithm> = [.rs256], takesAnyJWT: Bool = false, roles: ClaimPath? = nil
        ) {
            self.algorithms = algorithms
            self.takesAnyJWT = takesAnyJWT
            self.roles = roles
        }
    }

    private let issuer: VerbatimString
    private let audience: VerbatimString
    private let form: Form
    private let leeway: Int64
    private let contexts: [VerbatimString: VerificationContexts]

    /// - Parameter leeway: seconds by which `exp` and `nbf` may be missed, for clocks that differ.
    /// - Throws: `cryptography`, when OpenSSL does not take a key.
    public init(
        issuer: String, audience: String, form: Form, keys: VerificationKeySet, leeway: Int64 = 0
    ) throws(AccessTokenError) {
        self.issuer = VerbatimString(issuer)
        self.audience = VerbatimString(audience)
        self.form = form
        self.leeway = leeway
        var contexts: [VerbatimString: VerificationContexts] = [:]
        for (kid, key) in keys.keys { contexts[kid] = try VerificationContexts(key) }
        self.contexts = contexts
    }

    /// - Parameters:
    ///   - token: the compact form, without `Bearer`.
    ///   - now: seconds since 1970.
    /// - Throws: see `AccessTokenError.Code`; `unknownKey` may be worth fetching keys for, all others are final.
    public func verify(_ token: [UInt8], now: Int64) throws(AccessTokenError) -> ExternalTokenClaims {
        guard token.count <= AccessTokenVerifier.maximumLength else { throw .tooLong() }
        let parts = try CompactParts(token)
        let header = try JOSEHeader(parts.header, passingOver: ["x5t", "x5t#S256"])
        guard let algorithm = SignatureAlgorithm(rawValue: header.algorithm.text), form.algorithms.contains(algorithm)
        else { throw AccessTokenError(.wrongAlgorithm, "The algorithm is none of the issuer's.") }
        guard MediaType.isAccessToken(header.type) || (form.takesAnyJWT && MediaType.isJWT(header.type)) else {
            throw AccessTokenError(.wrongType, "Not an access token.")
        }
        guard let key = contexts[header.kid] else {
            throw AccessTokenError(.unknownKey, "No key has the token's kid.")
        }
        // Not the header says what a key is for (RFC 8725 §3.1).
        guard key.algorithm == algorithm else {
            throw AccessTokenError(.wrongAlgorithm, "The key is for another algorithm.")
        }
        let reading = try ExternalTokenClaims.read(json: try key.payload(of: parts), roles: form.roles)
        guard VerbatimString(reading.claims.issuer) == issuer else {
            throw AccessTokenError(.wrongIssuer, "Another issuer's token.")
        }
        guard reading.audiences.contains(audience) else {
            throw AccessTokenError(.wrongAudience, "Another audience's token.")
        }
        guard now < reading.claims.expiresAt + leeway else {
            throw AccessTokenError(.expired, "The token has expired.")
        }
        if let notBefore = reading.notBefore, now < notBefore - leeway {
            throw AccessTokenError(.notYetValid, "The token is not valid yet.")
        }
        return reading.claims
    }
}
