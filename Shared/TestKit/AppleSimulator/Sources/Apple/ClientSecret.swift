import AccessToken
import Bytes
import Foundation
import JWTKit

/// The check of a client secret: a token that the client signs with ES256 (Apple, "Creating a client secret").
struct ClientSecret: Sendable {
    /// What Apple wants to find as `aud`.
    static let audience = "https://appleid.apple.com"
    /// Apple's largest distance between `iat` and `exp`, six months.
    static let maximumLifetime = 15_777_000

    private struct Header: Codable {
        var alg: String
        var kid: String
    }

    private struct Claims: JWTPayload {
        var iss: String
        var sub: String
        var aud: String
        var iat: Int
        var exp: Int

        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    /// With the client's key, whose signature is checked; without, the shape alone is.
    private let key: JWTKeyCollection?

    /// - Parameter privateKey: the client's key (PEM), of which the public half is taken.
    init(privateKey: String?) async throws {
        if let privateKey {
            key = await JWTKeyCollection().add(ecdsa: try ES256PrivateKey(pem: privateKey).publicKey)
        } else {
            key = nil
        }
    }

    /// Whether `secret` proves that the caller is `clientID`.
    ///
    /// - Parameter now: seconds since 1970.
    func isValid(_ secret: String, clientID: String, now: Int) async -> Bool {
        guard let key else { return hasRightShape(secret, clientID: clientID, now: now) }
        guard hasRightShape(secret, clientID: clientID, now: now) else { return false }
        return (try? await key.verify(secret, as: Claims.self)) != nil
    }

    /// The team that made it; `nil` unless it has the right shape.
    func team(of secret: String, clientID: String, now: Int) -> String? {
        claims(of: secret, clientID: clientID, now: now)?.iss
    }

    private func hasRightShape(_ secret: String, clientID: String, now: Int) -> Bool {
        claims(of: secret, clientID: clientID, now: now) != nil
    }

    private func claims(of secret: String, clientID: String, now: Int) -> Claims? {
        let parts = secret.split(separator: ".", omittingEmptySubsequences: false)
            .map { Base64URL.decode($0).map { Data($0) } }
        guard parts.count == 3, let header = parts[0], let body = parts[1], let signature = parts[2],
            let header = try? JSONDecoder().decode(Header.self, from: header),
            let claims = try? JSONDecoder().decode(Claims.self, from: body)
        else { return nil }
        let isRight =
            header.alg == "ES256" && !header.kid.isEmpty && signature.count == 64
            && !claims.iss.isEmpty && claims.sub == clientID && claims.aud == Self.audience
            && claims.iat <= now + 60 && claims.exp > now && claims.exp - claims.iat <= Self.maximumLifetime
        return isRight ? claims : nil
    }
}
