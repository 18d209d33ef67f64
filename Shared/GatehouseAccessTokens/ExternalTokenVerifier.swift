import GatehouseBytes

/// Verifies access tokens of another identity provider, in the format that the operator has configured.
///
/// Header members that would change how a token is interpreted (`crit`, `b64`, `zip`, `enc`, keys in the header) are
/// refused, as with Gatehouse's own tokens. Any number of threads may use it at once.
public struct ExternalTokenVerifier: Sendable {
    /// The format of an issuer's tokens.
    public struct Form: Sendable, Equatable {
        public var algorithms: Set<SignatureAlgorithm>
        /// Whether tokens without the type of access tokens are accepted: with the `typ` `JWT`, or without `typ`.
        public var acceptsAnyJWT: Bool
        /// The path of the roles, if the tokens have any.
        public var roles: ClaimPath?

        public init(
            algorithms: Set<SignatureAlgorithm> = [.rs256], acceptsAnyJWT: Bool = false, roles: ClaimPath? = nil
        ) {
            self.algorithms = algorithms
            self.acceptsAnyJWT = acceptsAnyJWT
            self.roles = roles
        }
    }

    private let issuer: VerbatimString
    private let audience: VerbatimString
    private let form: Form
    private let leeway: Int64
    private let verifiers: [VerificationKeySet.Name: SignatureVerifier]

    /// - Parameter leeway: the tolerance for `exp` and `nbf` in seconds, because clocks differ.
    /// - Throws: `cryptography`, when OpenSSL does not accept a key.
    public init(
        issuer: String, audience: String, form: Form, keys: VerificationKeySet, leeway: Int64 = 0
    ) throws(AccessTokenError) {
        self.issuer = VerbatimString(issuer)
        self.audience = VerbatimString(audience)
        self.form = form
        self.leeway = leeway
        var verifiers: [VerificationKeySet.Name: SignatureVerifier] = [:]
        for (name, key) in keys.keys { verifiers[name] = try SignatureVerifier(key) }
        self.verifiers = verifiers
    }

    /// - Parameters:
    ///   - token: the compact form, without `Bearer`.
    ///   - now: seconds since 1970.
    /// - Throws: see `AccessTokenError.Code`. After `unknownKey` a fetch of the keys may help. All other errors are
    ///   final.
    public func verify(_ token: [UInt8], now: Int64) throws(AccessTokenError) -> ExternalTokenClaims {
        guard token.count <= AccessTokenVerifier.maximumLength else { throw .tooLong() }
        let parts = try CompactParts(token)
        let header = try JOSEHeader(foreign: parts.header)
        guard let algorithm = SignatureAlgorithm(rawValue: header.algorithm.text), form.algorithms.contains(algorithm)
        else { throw AccessTokenError(.wrongAlgorithm, "The algorithm is none of the issuer's.") }
        guard TokenMediaType.isAccessToken(header.type) || (form.acceptsAnyJWT && TokenMediaType.isJWT(header.type))
        else {
            throw AccessTokenError(.wrongType, "Not an access token.")
        }
        // A key is only ever used with its own algorithm (RFC 8725 §3.1).
        guard let key = verifiers[.init(kid: header.kid, algorithm: algorithm)] else {
            throw AccessTokenError(.unknownKey, "No key has the token's kid and algorithm.")
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

/// The claims that Gatehouse reads from another issuer's access token. It ignores all others, because they differ
/// between identity providers.
public struct ExternalTokenClaims: Sendable, Equatable {
    /// `iss`
    public var issuer: String
    /// `sub`: the issuer's identifier of the user.
    public var subject: String
    /// `iat`: seconds since 1970; `nil` in a token without the claim.
    public var issuedAt: Int64?
    /// `exp`: seconds since 1970. The token is valid before this second, not in it.
    public var expiresAt: Int64
    /// `jti`
    public var tokenID: String?
    /// `client_id` (RFC 9068 §2.2), or else `azp` (OpenID Connect).
    public var clientID: String?
    /// The roles at the configured path.
    public var roles: [String] = []
    /// `email`. Unless `isEmailVerified`, the address may belong to another person.
    public var email: String?
    /// `email_verified`
    public var isEmailVerified = false
    /// `auth_time`: when the user last authenticated, in seconds since 1970; `nil` in a token without the claim.
    public var authenticationTime: Int64?
}

/// The path of the roles in an issuer's tokens: a claim by its name, or one within others.
public struct ClaimPath: Sendable, Hashable {
    /// From the outermost to the innermost. Each is a whole name, including its dots.
    let names: [VerbatimString]

    /// Claims with a fixed meaning, which cannot hold roles.
    static let reserved: Set<VerbatimString> = [
        "iss", "aud", "sub", "jti", "iat", "exp", "nbf", "client_id", "azp", "email", "email_verified",
        "auth_time",
    ]

    /// - Parameter names: from the outermost to the innermost; 1 to 6 of them, none empty.
    public init?(_ names: [String]) {
        guard (1...6).contains(names.count), names.allSatisfy({ !$0.isEmpty }), !Self.reserved.contains(names[0]) else {
            return nil
        }
        self.names = names.map { VerbatimString($0) }
    }
}

extension ExternalTokenClaims {
    struct Parsed {
        var claims: ExternalTokenClaims
        var audiences: [VerbatimString]
        var notBefore: Int64?
    }

    /// Reads the claims of a token whose signature was verified.
    ///
    /// - Parameter path: the path of the roles, if any.
    static func read(json: [UInt8], roles path: ClaimPath?) throws(AccessTokenError) -> Parsed {
        var issuer, subject, tokenID, clientID, authorizedParty, email: String?
        var issuedAt, expiresAt, notBefore, authenticationTime: Int64?
        var audiences: [VerbatimString]?
        var isEmailVerified = false
        var roles: [String] = []

        var scanner = JSONScanner(json)
        try scanner.object { (name, scanner) throws(AccessTokenError) in
            switch name {
            case "iss": issuer = try scanner.text()
            case "aud": audiences = try scanner.texts().map { VerbatimString($0) }
            case "sub": subject = try scanner.text()
            case "jti": tokenID = try scanner.textIfAny()
            case "iat": issuedAt = try scanner.time(.down)
            case "exp": expiresAt = try scanner.time(.down)
            case "nbf": notBefore = try scanner.time(.up)
            case "client_id": clientID = try scanner.textIfAny()
            case "azp": authorizedParty = try scanner.textIfAny()
            case "email": email = try scanner.textIfAny()
            case "email_verified": isEmailVerified = try scanner.isTrue()
            case "auth_time": authenticationTime = try scanner.timeIfAny()
            case _ where name == path?.names.first: try readRoles(&roles, at: path?.names.dropFirst() ?? [], &scanner)
            default: try scanner.skipValue()
            }
        }
        try scanner.end()

        guard let issuer, let audiences, let subject, let expiresAt else {
            throw .malformed("A required claim is missing.")
        }
        guard (1...255).contains(subject.utf8.count) else { throw .malformed("The subject is too long.") }
        guard issuedAt.map({ $0 <= expiresAt }) ?? true else {
            throw .malformed("The token expires before it was issued.")
        }
        let claims = ExternalTokenClaims(
            issuer: issuer, subject: subject, issuedAt: issuedAt, expiresAt: expiresAt, tokenID: tokenID,
            clientID: clientID ?? authorizedParty, roles: roles, email: email,
            isEmailVerified: email != nil && isEmailVerified, authenticationTime: authenticationTime)
        return Parsed(claims: claims, audiences: audiences, notBefore: notBefore)
    }

    /// Any other value counts as no roles, which is safe: a user without roles has fewer rights.
    private static func readRoles(
        _ roles: inout [String], at path: ArraySlice<VerbatimString>, _ scanner: inout JSONScanner
    ) throws(AccessTokenError) {
        let kind = scanner.peekValue()
        guard let first = path.first else {
            if kind == UInt8(ascii: "[") || kind == UInt8(ascii: "\"") {
                roles = try scanner.texts()
            } else {
                try scanner.skipValue()
            }
            return
        }
        guard kind == UInt8(ascii: "{") else { return try scanner.skipValue() }
        var found = roles
        try scanner.object { (name, scanner) throws(AccessTokenError) in
            if name == first {
                try readRoles(&found, at: path.dropFirst(), &scanner)
            } else {
                try scanner.skipValue()
            }
        }
        roles = found
    }
}

extension JSONScanner {
    /// An optional text. `nil` for any other value, such as an empty text, or the `null` that some providers write for
    /// unknown values.
    fileprivate mutating func textIfAny() throws(AccessTokenError) -> String? {
        guard peekValue() == UInt8(ascii: "\"") else {
            try skipValue()
            return nil
        }
        let value = try string()
        return value.isEmpty || value.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? nil : value
    }

    /// A time (RFC 7519 §2, NumericDate) in whole seconds since 1970, which the issuer may write with a fraction.
    ///
    /// - Parameter rounding: of a fraction; towards the shorter life of the token.
    fileprivate mutating func time(_ rounding: Rounding) throws(AccessTokenError) -> Int64 {
        try seconds(rounding, in: AccessTokenClaims.timeRange)
    }

    /// A time, rounded down; `nil` for any other value.
    fileprivate mutating func timeIfAny() throws(AccessTokenError) -> Int64? {
        var ahead = self
        try skipValue()
        return try? ahead.time(.down)
    }

    /// Whether the value is `true`. Any other value counts as `false`.
    fileprivate mutating func isTrue() throws(AccessTokenError) -> Bool {
        guard peekValue() == UInt8(ascii: "t") else {
            try skipValue()
            return false
        }
        return try boolean()
    }

    /// A text, or a list of texts.
    fileprivate mutating func texts() throws(AccessTokenError) -> [String] {
        guard peekValue() == UInt8(ascii: "[") else { return [try text()] }
        var texts: [String] = []
        try array { (scanner) throws(AccessTokenError) in texts.append(try scanner.text()) }
        return texts
    }
}
