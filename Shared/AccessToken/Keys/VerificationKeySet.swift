import Bytes

/// Public keys by their `kid`.
public struct VerificationKeySet: Sendable, Equatable {
    private(set) var keys: [VerbatimString: VerificationKey]

    /// Each key under its thumbprint.
    ///
    /// - Throws: `duplicateKey`
    public init(keys: [RSAPublicKey]) throws(AccessTokenError) {
        try self.init(keys.map { (VerbatimString($0.thumbprint), .rsa($0)) })
    }

    /// One or several `PUBLIC KEY` blocks, each under its thumbprint. Other blocks are refused: a private key does
    /// not belong where only verification happens.
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
