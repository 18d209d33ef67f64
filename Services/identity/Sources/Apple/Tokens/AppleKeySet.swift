import Bytes
import Foundation
import JWTKit
import ServiceKit

/// Apple's public keys, as published at one moment.
struct AppleKeySet: Sendable {
    private let keys: [VerbatimString: any JWTAlgorithm]

    struct Malformed: Error {}

    /// Reads a JWK set (RFC 7517 §5). Keys that are not for RS256 signatures are left out, as the RFC asks. A key of
    /// fewer than 2048 bits or with another exponent than 65537, and a key id that is there twice, make the whole set
    /// unusable.
    init(jwks: Data) async throws {
        struct Document: Decodable {
            var keys: [Key]
        }
        struct Key: Decodable {
            var kty: String
            var kid: String?
            var use: String?
            var alg: String?
            var n: String?
            var e: String?
        }
        let document = try StrictJSON.decode(Document.self, from: Array(jwks))
        var keys: [VerbatimString: any JWTAlgorithm] = [:]
        for key in document.keys where key.kty == "RSA" && key.use ?? "sig" == "sig" && key.alg ?? "RS256" == "RS256" {
            guard let kid = key.kid, !kid.isEmpty, let n = key.n, let e = key.e, e == "AQAB",
                keys[VerbatimString(kid)] == nil
            else {
                throw Malformed()
            }
            let collection = JWTKeyCollection()
            let identifier = JWKIdentifier(string: kid)
            await collection.add(
                rsa: try Insecure.RSA.PublicKey(modulus: n, exponent: e), digestAlgorithm: .sha256, kid: identifier)
            keys[VerbatimString(kid)] = try await collection.getKey(for: identifier)
        }
        guard !keys.isEmpty else { throw Malformed() }
        self.keys = keys
    }

    subscript(kid: String) -> (any JWTAlgorithm)? {
        keys[VerbatimString(kid)]
    }
}
