import Crypto
import Foundation
import GatehouseAccessTokens
import GatehouseBytes

/// Verifies a client secret: a token that the client signs with ES256 (Apple, "Creating a client secret").
struct ClientSecret: Sendable {
    /// Apple's required `aud`.
    static let audience = "https://appleid.apple.com"
    /// Apple's limit of the time between `iat` and `exp`: six months.
    static let maximumLifetime = 15_777_000

    private struct Header: Codable {
        var alg: String
        var kid: String
    }

    private struct Claims: Decodable {
        var iss: String
        var sub: String
        var aud: String
        var iat: Int
        var exp: Int
    }

    /// The client's public key; `nil` if the simulator verifies only the format.
    private let key: P256.Signing.PublicKey?

    /// - Parameter privateKey: the client's key (PEM). Only its public half is used.
    init(privateKey: String?) throws {
        key = try privateKey.map { try P256.Signing.PrivateKey(pemRepresentation: $0).publicKey }
    }

    /// Whether `secret` authenticates the caller as `clientID`.
    ///
    /// - Parameter now: seconds since 1970.
    func isValid(_ secret: String, clientID: String, now: Int) -> Bool {
        guard claims(of: secret, clientID: clientID, now: now) != nil else { return false }
        guard let key else { return true }
        guard let parts = try? CompactParts(Array(secret.utf8)), let signature = Base64URL.decode(parts.signature),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(signature, for: parts.signingInput)
    }

    /// The team that issued the secret; `nil` if the format is invalid.
    func team(of secret: String, clientID: String, now: Int) -> String? {
        claims(of: secret, clientID: clientID, now: now)?.iss
    }

    private func claims(of secret: String, clientID: String, now: Int) -> Claims? {
        guard let parts = try? CompactParts(Array(secret.utf8)), let header = Base64URL.decode(parts.header),
            let body = Base64URL.decode(parts.payload), let signature = Base64URL.decode(parts.signature),
            let header = try? JSONDecoder().decode(Header.self, from: Data(header)),
            let claims = try? JSONDecoder().decode(Claims.self, from: Data(body))
        else { return nil }
        let isRight =
            header.alg == "ES256" && !header.kid.isEmpty && signature.count == 64
            && !claims.iss.isEmpty && claims.sub == clientID && claims.aud == Self.audience
            && claims.iat <= now + 60 && claims.exp > now && claims.exp - claims.iat <= Self.maximumLifetime
        return isRight ? claims : nil
    }
}
