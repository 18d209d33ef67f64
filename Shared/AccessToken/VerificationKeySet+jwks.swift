import Verbatim

extension VerificationKeySet {
    /// Reads a JWK Set (RFC 7517 §5).
    ///
    /// Keys that are not for verifying RS256 (another `kty`, `use`, `alg` or `key_ops`) are passed over. A key that is
    /// for it but weak, unreadable, without `kid` or with another's makes the whole set refused, so that the fault is
    /// seen and the keys known before stay in force.
    ///
    /// - Throws: `malformed`, `weakKey`, `duplicateKey`
    public init(jwks: [UInt8]) throws(AccessTokenError) {
        var pairs: [(VerbatimString, RSAPublicKey)] = []
        var hasKeys = false
        var scanner = JSONScanner(jwks)
        try scanner.object { (name, scanner) throws(AccessTokenError) in
            guard name == "keys" else { return try scanner.skipValue() }
            hasKeys = true
            try scanner.array { (scanner) throws(AccessTokenError) in
                let key = try JSONWebKey(&scanner)
                if key.isForVerification { pairs.append(try key.pair) }
            }
        }
        try scanner.end()
        guard hasKeys else { throw .malformed("The key set has no keys member.") }
        try self.init(pairs)
    }

    /// The keys as a JWK Set, sorted by `kid`, so that equal sets have equal bytes.
    public func jwks() -> [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.member("keys", keys.sorted { $0.key < $1.key }) { writer, pair in
                writer.object {
                    $0.member("kty", "RSA")
                    $0.member("use", "sig")
                    $0.member("alg", "RS256")
                    $0.member("kid", pair.key.text)
                    $0.member("n", Base64URL.string(pair.value.modulus))
                    $0.member("e", Base64URL.string(pair.value.exponent))
                }
            }
        }
        return writer.bytes
    }
}

/// The members of a JWK (RFC 7517 §4, RFC 7518 §6.3) that matter here.
private struct JSONWebKey {
    private var kty, use, alg, kid: VerbatimString?
    private var n, e: String?
    private var operations: [VerbatimString]?
    private var isPrivate = false

    init(_ scanner: inout JSONScanner) throws(AccessTokenError) {
        var key = JSONWebKey()
        try scanner.object { (name, scanner) throws(AccessTokenError) in
            switch name {
            case "kty": key.kty = try scanner.name()
            case "use": key.use = try scanner.name()
            case "alg": key.alg = try scanner.name()
            case "kid": key.kid = try scanner.name()
            case "n": key.n = try scanner.string()
            case "e": key.e = try scanner.string()
            case "key_ops":
                var operations: [VerbatimString] = []
                try scanner.array { (scanner) throws(AccessTokenError) in operations.append(try scanner.name()) }
                key.operations = operations
            default:
                if name == "d" { key.isPrivate = true }
                try scanner.skipValue()
            }
        }
        self = key
    }

    private init() {}

    var isForVerification: Bool {
        kty == "RSA" && (use ?? "sig") == "sig" && (alg ?? "RS256") == "RS256"
            && (operations?.contains("verify") ?? true)
    }

    var pair: (VerbatimString, RSAPublicKey) {
        get throws(AccessTokenError) {
            guard !isPrivate else { throw .malformed("The key set tells a private key.") }
            guard let kid, !kid.text.isEmpty else { throw .malformed("A key has no kid.") }
            guard let modulus = n.flatMap({ Base64URL.decode($0) }), let exponent = e.flatMap({ Base64URL.decode($0) })
            else { throw .malformed("A key's numbers cannot be read.") }
            return (kid, try RSAPublicKey(modulus: modulus, exponent: exponent))
        }
    }
}
