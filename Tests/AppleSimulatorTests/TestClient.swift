import Foundation
import JWTKit

/// A client that makes client secrets as Apple wants them, or not.
struct TestClient {
    let key = ES256PrivateKey()
    var issuer = "TEAM123456"
    var audience = "https://appleid.apple.com"
    var keyIdentifier = "KEY1234567"
    var issuedAt = Int(Date().timeIntervalSince1970)
    var lifetime = 300

    struct Claims: JWTPayload {
        var iss, sub, aud: String
        var iat, exp: Int
        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    func secret(for clientID: String = "com.example.app") async throws -> String {
        let keys = await JWTKeyCollection().add(ecdsa: key, kid: JWKIdentifier(string: keyIdentifier))
        return try await keys.sign(
            Claims(iss: issuer, sub: clientID, aud: audience, iat: issuedAt, exp: issuedAt + lifetime),
            kid: JWKIdentifier(string: keyIdentifier))
    }

    func form(_ fields: [String: String], clientID: String = "com.example.app") async throws -> [String: String] {
        fields.merging(["client_id": clientID, "client_secret": try await secret(for: clientID)]) { given, _ in given }
    }
}
