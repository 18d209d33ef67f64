import GatehouseBytes

/// Public keys by their `kid` and algorithm.
public struct VerificationKeySet: Sendable, Equatable {
    /// What a token names its key by. Keys of different types may share a `kid` (RFC 7517 §4.5).
    struct Name: Hashable {
        var kid: VerbatimString
        var algorithm: SignatureAlgorithm
    }

    private(set) var keys: [Name: VerificationKey]

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
            let name = Name(kid: pair.kid, algorithm: pair.key.algorithm)
            guard keys.updateValue(pair.key, forKey: name) == nil else {
                throw AccessTokenError(.duplicateKey, "Two keys of one type have the same kid.")
            }
        }
    }

    /// - Parameter algorithm: by default that of Gatehouse's own tokens.
    public subscript(kid: String, algorithm: SignatureAlgorithm = .rs256) -> VerificationKey? {
        keys[Name(kid: VerbatimString(kid), algorithm: algorithm)]
    }

    /// The `kid` of every key, sorted, each once.
    public var keyIDs: [String] { Set(keys.keys.map(\.kid)).sorted().map(\.text) }

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
    /// The contents of a JWK Set.
    public struct Reading: Sendable {
        public var keys: VerificationKeySet
        /// The entries that were skipped although they are not for another purpose.
        public var unusable: [UnusableKey] = []
    }

    /// The usable keys of a JWK Set. See ``read(jwks:)``.
    public init(jwks: [UInt8]) throws(AccessTokenError) {
        self = try Self.read(jwks: jwks).keys
    }

    /// Reads a JWK Set (RFC 7517 §5).
    ///
    /// Keys that do not verify RS256 or ES256 (another `kty`, `crv`, `use`, `alg` or `key_ops`) are skipped, and so is
    /// an entry that is weak, private, without `kid`, or not a JWK. One such entry must not make the other keys
    /// unusable. The set is refused if it is not a JSON object with `keys`, if no key is usable, or if two usable keys
    /// of one type have the same `kid`: it is then unknown which one counts.
    ///
    /// - Throws: `malformed`, `unreadableKey`, `duplicateKey`
    public static func read(jwks: [UInt8]) throws(AccessTokenError) -> Reading {
        var pairs: [(VerbatimString, VerificationKey)] = []
        var unusable: [UnusableKey] = []
        var hasKeys = false
        var scanner = JSONScanner(jwks)
        try scanner.object { (name, scanner) throws(AccessTokenError) in
            guard name == "keys" else { return try scanner.skipAnyValue() }
            hasKeys = true
            try scanner.array { (scanner) throws(AccessTokenError) in
                var (entry, start) = (scanner, scanner)
                try scanner.skipAnyValue()
                do throws(AccessTokenError) {
                    let key = try JSONWebKey(entry: &entry)
                    if key.isForVerification { pairs.append(try key.pair) }
                } catch {
                    unusable.append(UnusableKey(kid: JSONWebKey.kid(&start), reason: error.message))
                }
            }
        }
        try scanner.end()
        guard hasKeys else { throw .malformed("The key set has no keys member.") }
        guard !pairs.isEmpty else {
            let reason = unusable.first.map { " The first of its \(unusable.count) unusable keys: \($0)" } ?? ""
            throw AccessTokenError(.unreadableKey, "The key set has no usable key." + reason)
        }
        return Reading(keys: try VerificationKeySet(pairs), unusable: unusable)
    }

    /// The keys as a JWK Set, sorted by `kid`, so that equal sets have equal bytes.
    public func jwks() -> [UInt8] {
        var writer = JSONWriter()
        writer.object {
            let sorted = keys.sorted {
                ($0.key.kid, $0.key.algorithm.rawValue) < ($1.key.kid, $1.key.algorithm.rawValue)
            }
            $0.member("keys", sorted) { writer, pair in
                writer.object { pair.value.write(kid: pair.key.kid.text, to: &$0) }
            }
        }
        return writer.bytes
    }
}

/// An entry of a key set that was skipped.
public struct UnusableKey: Sendable, Hashable, CustomStringConvertible {
    /// The first characters of its `kid`, if it has one.
    public let kid: String?
    /// For operators. It holds nothing of the key.
    public let reason: String

    public var description: String { (kid.map { "\($0): " } ?? "") + reason }
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

    /// - Throws: `malformed`, with a message that does not depend on the entry's place in the set.
    init(entry scanner: inout JSONScanner) throws(AccessTokenError) {
        do {
            self = try Self.read(&scanner)
        } catch {
            throw .malformed("The entry is not a JWK, or a member is of another type or occurs twice.")
        }
        // Required (RFC 7517 §4.1).
        guard kty != nil else { throw .malformed("The key has no kty.") }
    }

    private static func read(_ scanner: inout JSONScanner) throws(AccessTokenError) -> JSONWebKey {
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
        return key
    }

    private init() {}

    /// The start of the `kid` of an entry that may be anything.
    static func kid(_ scanner: inout JSONScanner) -> String? {
        guard scanner.peekValue() == UInt8(ascii: "{") else { return nil }
        var kid: String?
        try? scanner.object { (name, scanner) throws(AccessTokenError) in
            if name == "kid", scanner.peekValue() == UInt8(ascii: "\"") {
                kid = String(try scanner.string().unicodeScalars.prefix(64))
            } else {
                try scanner.skipAnyValue()
            }
        }
        return kid
    }

    /// Whether the key is for one of Gatehouse's algorithms.
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
            guard !isPrivate else { throw .malformed("The key is a private key.") }
            guard let kid, !kid.text.isEmpty else { throw .malformed("A key has no kid.") }
            let numbers = (algorithm == .rs256 ? [n, e] : [x, y]).compactMap { $0.flatMap { Base64URL.decode($0) } }
            guard numbers.count == 2 else { throw .malformed("A key's numbers cannot be read.") }
            return algorithm == .rs256
                ? (kid, .rsa(try RSAPublicKey(modulus: numbers[0], exponent: numbers[1])))
                : (kid, .p256(try P256PublicKey(x: numbers[0], y: numbers[1])))
        }
    }
}
