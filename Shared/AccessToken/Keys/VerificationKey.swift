import Bytes

/// How a token is signed (RFC 7518 §3.1). Gatehouse's own are RS256 always.
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case es256 = "ES256"
}

/// A public key, and with it the one algorithm that it is for (RFC 8725 §3.1).
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

/// A key that is ready to verify with, on any number of threads at once.
enum VerificationContexts: Sendable {
    case rsa(ContextPool<RSAContext>)
    case p256(ContextPool<ECDSAContext>)

    init(_ key: VerificationKey) throws(AccessTokenError) {
        switch key {
        case .rsa(let key):
            self = .rsa(
                try ContextPool { () throws(AccessTokenError) in
                    try RSAContext(EVPKey(modulus: key.modulus, exponent: key.exponent), for: .verification)
                })
        case .p256(let key):
            self = .p256(
                try ContextPool { () throws(AccessTokenError) in
                    try ECDSAContext(EVPKey(x: key.x, y: key.y))
                })
        }
    }

    var algorithm: SignatureAlgorithm {
        switch self {
        case .rsa: .rs256
        case .p256: .es256
        }
    }

    /// The payload of a token that this key has signed.
    ///
    /// - Throws: `malformed`, `badSignature`, `cryptography`
    func payload(of parts: CompactParts) throws(AccessTokenError) -> [UInt8] {
        guard let signature = Base64URL.decode(parts.signature) else {
            throw .malformed("The signature is not canonical base64url.")
        }
        let isGenuine: Bool
        switch self {
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
