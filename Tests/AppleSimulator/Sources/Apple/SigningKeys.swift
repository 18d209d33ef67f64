import Foundation
import GatehouseAccessTokens
import GatehouseBytes

/// The RSA keys that the simulator signs with and publishes: the current one and the one before it.
struct SigningKeys: Sendable {
    /// RSA 2048, like Apple's.
    struct Key: Sendable {
        let identifier: String
        let published: PublishedKey
        fileprivate let signer: RSASigner

        init(_ key: RSAPrivateKey, identifier: String) throws {
            self.identifier = identifier
            published = PublishedKey(
                kid: identifier, n: Base64URL.string(key.publicKey.modulus),
                e: Base64URL.string(key.publicKey.exponent))
            signer = try RSASigner(key)
        }

        static func generate() async throws -> Key {
            let identifier = String(UUID().uuidString.prefix(10)).replacingOccurrences(of: "-", with: "")
            return try Key(RSAPrivateKey.generate(bits: 2048), identifier: identifier)
        }

        /// A JWS in compact form (RFC 7515 §7.1).
        func sign(_ claims: some Encodable) throws -> String {
            let header = try JSONEncoder().encode(["alg": "RS256", "kid": identifier])
            return try sign(header: header, payload: JSONEncoder().encode(claims))
        }

        func sign(header: Data, payload: Data) throws -> String {
            let signingInput = "\(Base64URL.string(header)).\(Base64URL.string(payload))"
            return "\(signingInput).\(Base64URL.string(try signer.signature(over: Array(signingInput.utf8))))"
        }
    }

    private(set) var current: Key
    private var previous: Key

    init(current: Key, previous: Key) {
        (self.current, self.previous) = (current, previous)
    }

    init() async throws {
        async let first = Key.generate()
        async let second = Key.generate()
        self.init(current: try await first, previous: try await second)
    }

    /// Signs with `next` from now on. Tokens that the key before the current one signed can no longer be verified.
    mutating func rotate(to next: Key) {
        previous = current
        current = next
    }

    var published: [PublishedKey] { [current.published, previous.published] }
}

/// One element of `GET /auth/keys` (RFC 7517, RFC 7518 §6.3).
struct PublishedKey: Codable, Sendable, Equatable {
    var kty = "RSA"
    var kid: String
    var use = "sig"
    var alg = "RS256"
    var n: String
    var e: String
}
