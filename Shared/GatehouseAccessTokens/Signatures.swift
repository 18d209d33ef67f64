import GatehouseBytes

/// A private key that is ready to sign RS256 (RFC 7518 §3.3), on any number of threads at once.
public struct RSASigner: Sendable {
    public let publicKey: RSAPublicKey
    private let contexts: ContextPool<RSAContext>

    /// - Throws: `cryptography`, when OpenSSL does not accept the key.
    public init(_ key: RSAPrivateKey) throws(AccessTokenError) {
        publicKey = key.publicKey
        contexts = try ContextPool { () throws(AccessTokenError) in try RSAContext(key.copy(), for: .signing) }
    }

    /// - Parameter signingInput: a JWS's encoded header, a dot and its encoded payload (RFC 7515 §5.1).
    /// - Throws: `cryptography`
    public func signature(over signingInput: [UInt8]) throws(AccessTokenError) -> [UInt8] {
        try contexts.withContext { (context) throws(AccessTokenError) in try context.sign(signingInput[...]) }
    }
}

/// A public key that is ready to verify signatures, on any number of threads at once.
public struct SignatureVerifier: Sendable {
    private enum Contexts: Sendable {
        case rsa(ContextPool<RSAContext>)
        case p256(ContextPool<ECDSAContext>)
    }

    /// The one algorithm that the key is for.
    public let algorithm: SignatureAlgorithm
    private let contexts: Contexts

    /// - Throws: `cryptography`, when OpenSSL does not accept the key.
    public init(_ key: VerificationKey) throws(AccessTokenError) {
        algorithm = key.algorithm
        switch key {
        case .rsa(let key):
            contexts = .rsa(
                try ContextPool { () throws(AccessTokenError) in
                    try RSAContext(EVPKey(modulus: key.modulus, exponent: key.exponent), for: .verification)
                })
        case .p256(let key):
            contexts = .p256(
                try ContextPool { () throws(AccessTokenError) in
                    try ECDSAContext(EVPKey(x: key.x, y: key.y))
                })
        }
    }

    /// The decoded payload of a token that this key has signed.
    ///
    /// - Throws: `malformed`, `badSignature`, `cryptography`
    public func payload(of parts: CompactParts) throws(AccessTokenError) -> [UInt8] {
        guard let signature = Base64URL.decode(parts.signature) else {
            throw .malformed("The signature is not canonical base64url.")
        }
        let isGenuine: Bool
        switch contexts {
        case .rsa(let pool):
            isGenuine = try pool.withContext { (context) throws(AccessTokenError) in
                try context.verifies(signature, over: parts.signingInput)
            }
        case .p256(let pool):
            isGenuine = try pool.withContext { (context) throws(AccessTokenError) in
                try context.verifies(signature, over: parts.signingInput)
            }
        }
        guard isGenuine else { throw AccessTokenError(.badSignature, "The signature is not the key's.") }
        guard let payload = Base64URL.decode(parts.payload) else {
            throw .malformed("The claims are not canonical base64url.")
        }
        return payload
    }
}
