import AccessToken
import Bytes
import Crypto
import Foundation

/// A client that makes client secrets as Apple requires them, or not.
struct TestClient {
    let key = P256.Signing.PrivateKey()
    var issuer = "TEAM123456"
    var audience = "https://appleid.apple.com"
    var keyIdentifier = "KEY1234567"
    var issuedAt = Int(Date().timeIntervalSince1970)
    var lifetime = 300

    private struct Claims: Encodable {
        var iss, sub, aud: String
        var iat, exp: Int
    }

    func secret(for clientID: String = "com.example.app") throws -> String {
        let input = try signingInput(algorithm: "ES256", clientID: clientID)
        return "\(input).\(Base64URL.string(try key.signature(for: Data(input.utf8)).rawRepresentation))"
    }

    /// The header and the claims of a secret, encoded.
    func signingInput(algorithm: String, clientID: String = "com.example.app") throws -> String {
        let header = try JSONEncoder().encode(["alg": algorithm, "kid": keyIdentifier])
        let claims = try JSONEncoder().encode(
            Claims(iss: issuer, sub: clientID, aud: audience, iat: issuedAt, exp: issuedAt + lifetime))
        return "\(Base64URL.string(header)).\(Base64URL.string(claims))"
    }

    func form(_ fields: [String: String], clientID: String = "com.example.app") throws -> [String: String] {
        fields.merging(["client_id": clientID, "client_secret": try secret(for: clientID)]) { given, _ in given }
    }
}

private struct TokenHeader: Decodable {
    var kid: String
}

private struct UnknownKey: Error {}

/// The claims of a token that one of the published keys has signed.
func verifiedClaims<Claims: Decodable>(
    _ type: Claims.Type, of token: String, keys jwks: some Sequence<UInt8>
) throws -> Claims {
    let parts = try CompactParts(Array(token.utf8))
    let header = try JSONDecoder().decode(TokenHeader.self, from: Data(Base64URL.decode(parts.header) ?? []))
    guard let key = try VerificationKeySet(jwks: Array(jwks))[header.kid] else { throw UnknownKey() }
    return try JSONDecoder().decode(Claims.self, from: Data(SignatureVerifier(key).payload(of: parts)))
}
