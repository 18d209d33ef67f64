import Bytes

/// Public keys by their `kid`.
public struct VerificationKeySet: Sendable, Equatable {
    private(set) var keys: [VerbatimString: VerificationKey]

    /// The `kid` of each key is its thumbprint.
    ///
    /// - Throws: `duplicateKey`
    public init(keys: [RSAPublicKey]) throws(AccessTokenError) {
        try self.init(keys.map { (VerbatimString($0.thumbprint), .rsa($0)) })
    }

    /// Reads one or several `PUBLIC KEY` blocks. The `kid` of each key is its thumbprint. Other blocks are refused,
    /// because a verifier must not hold private keys.
    ///
    /// - Throws: `unreadableKey`, `weakKey`, `duplicateKey`
    public init(pem: String) throws(AccessTokenError) {
        try self.init(keys: RSAPublicKey.keys(pem: pem))
    }

    init(_ pairs: [(kid: VerbatimString, key: VerificationKey)]) throws(AccessTokenError) {
        keys = [:]
        for pair in pairs {
            guard keys.updateValue(pair.key, forKey: pair.kid) == nil else {
                throw AccessTokenError(.duplicateKey, "Two keys have the same kid.")
            }
        }
    }

    public subscript(kid: String) -> VerificationKey? { keys[VerbatimString(kid)] }

    /// The `kid` of every key, sorted.
    public var keyIDs: [String] { keys.keys.sorted().map(\.text) }

    public var isEmpty: Bool { keys.isEmpty }
}

/// The signature algorithm of a token (RFC 7518 §3.1). Gatehouse's own tokens always use RS256.
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case es256 = "ES256"
}

/// A public key and the only algorithm for which it may be used (RFC 8725 §3.1).
public enum VerificationKey: Sendable, Equatable {
    case rsa(RSAPublicKey)
    case p256(P256PublicKey)

    public var algorithm: SignatureAlgorithm {
        switch self {
        case .rsa: .rs256
        case .p256: .es256
        }
    }
}

extension VerificationKeySet {
    /// Reads a JWK Set (RFC 7517 §5).
    ///
    /// Keys that do not verify RS256 or ES256 (another `kty`, `crv`, `use`, `alg` or `key_ops`) are skipped. If a key
    /// for these algorithms is weak, unreadable, without `kid` or with another key's `kid`, the whole set is refused.
    /// So the operator sees the defect, and the previous keys stay in use.
    ///
    /// - Throws: `malformed`, `weakKey`, `unreadableKey`, `duplicateKey`
    public init(jwks: [UInt8]) throws(AccessTokenError) {
        var pairs: [(VerbatimString, VerificationKey)] = []
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
                writer.object { pair.value.write(kid: pair.key.text, to: &$0) }
            }
        }
        return writer.bytes
    }
}

extension VerificationKey {
    fileprivate func write(kid: String, to writer: inout JSONWriter) {
        switch self {
        case .rsa: writer.member("kty", "RSA")
        case .p256:
            writer.member("kty", "EC")
            writer.member("crv", "P-256")
        }
        writer.member("use", "sig")
        writer.member("alg", algorithm.rawValue)
        writer.member("kid", kid)
        switch self {
        case .rsa(let key):
            writer.member("n", Base64URL.string(key.modulus))
            writer.member("e", Base64URL.string(key.exponent))
        case .p256(let key):
            writer.member("x", Base64URL.string(key.x))
            writer.member("y", Base64URL.string(key.y))
        }
    }
}

/// The members of a JWK (RFC 7517 §4, RFC 7518 §6.2, §6.3) that Gatehouse reads.
private struct JSONWebKey {
    private var kty, crv, use, alg, kid: VerbatimString?
    private var n, e, x, y: String?
    private var operations: [VerbatimString]?
    private var isPrivate = false

    init(_ scanner: inout JSONScanner) throws(AccessTokenError) {
        var key = JSONWebKey()
        try scanner.object { (name, scanner) throws(AccessTokenError) in
            switch name {
            case "kty": key.kty = try scanner.name()
            case "crv": key.crv = try scanner.name()
            case "use": key.use = try scanner.name()
            case "alg": key.alg = try scanner.name()
            case "kid": key.kid = try scanner.name()
            case "n": key.n = try scanner.string()
            case "e": key.e = try scanner.string()
            case "x": key.x = try scanner.string()
            case "y": key.y = try scanner.string()
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
        guard let algorithm, (use ?? "sig") == "sig", operations?.contains("verify") ?? true else { return false }
        return alg.map { $0 == VerbatimString(algorithm.rawValue) } ?? true
    }

    /// The algorithm for which Gatehouse uses keys of this kind.
    private var algorithm: SignatureAlgorithm? {
        switch (kty, crv) {
        case ("RSA", _): .rs256
        case ("EC", "P-256"): .es256
        default: nil
        }
    }

    var pair: (VerbatimString, VerificationKey) {
        get throws(AccessTokenError) {
            guard !isPrivate else { throw .malformed("The key set contains a private key.") }
            guard let kid, !kid.text.isEmpty else { throw .malformed("A key has no kid.") }
            let numbers = (algorithm == .rs256 ? [n, e] : [x, y]).compactMap { $0.flatMap { Base64URL.decode($0) } }
            guard numbers.count == 2 else { throw .malformed("A key's numbers cannot be read.") }
            return algorithm == .rs256
                ? (kid, .rsa(try RSAPublicKey(modulus: numbers[0], exponent: numbers[1])))
                : (kid, .p256(try P256PublicKey(x: numbers[0], y: numbers[1])))
        }
    }
}
