import AccessToken
import Bytes
import Foundation
import JWTKit

/// The RSA keys that the simulator signs with and publishes: the current one and the one before it.
struct SigningKeys: Sendable {
    /// RSA 2048, like Apple's.
    struct Key: Sendable {
        let identifier: String
        let published: PublishedKey
        fileprivate let signer: JWTKeyCollection

        static func generate() async throws -> Key {
            // OpenSSL makes a key ten times as fast as a debug build of BoringSSL, which holds up every other task.
            let key = try Insecure.RSA.PrivateKey(pem: RSAPrivateKey.generate(bits: 2048).pem)
            let identifier = String(UUID().uuidString.prefix(10)).replacingOccurrences(of: "-", with: "")
            let (modulus, exponent) = try key.publicKey.getKeyPrimitives()
            return Key(
                identifier: identifier,
                published: PublishedKey(kid: identifier, n: Base64URL.string(modulus), e: Base64URL.string(exponent)),
                signer: await JWTKeyCollection().add(
                    rsa: key, digestAlgorithm: .sha256, kid: JWKIdentifier(string: identifier)))
        }

        func sign(_ claims: some JWTPayload) async throws -> String {
            try await signer.sign(claims, kid: JWKIdentifier(string: identifier))
        }
    }

    private(set) var current: Key
    private var previous: Key

    init() async throws {
        async let first = Key.generate()
        async let second = Key.generate()
        (current, previous) = try await (first, second)
    }

    /// Signs with `next` from here on; what was signed by the key before the current one is no longer verifiable.
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
