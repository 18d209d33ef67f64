@testable import AppleSimulator
import Foundation
import JWTKit
import Testing

@Suite struct ClientSecretTests {
    private let now = Int(Date().timeIntervalSince1970)

    private func isValid(
        _ secret: String, clientID: String = "com.example.app", privateKey: String? = nil
    ) async throws -> Bool {
        try await ClientSecret(privateKey: privateKey).isValid(secret, clientID: clientID, now: now)
    }

    @Test func acceptsWhatAppleAccepts() async throws {
        let client = TestClient()
        let secret = try await client.secret()
        #expect(try await isValid(secret))
        #expect(try await isValid(secret, privateKey: client.key.pemRepresentation))
    }

    @Test func refusesASignatureOfAnotherKey() async throws {
        let secret = try await TestClient().secret()
        #expect(try await !isValid(secret, privateKey: ES256PrivateKey().pemRepresentation))
    }

    @Test func refusesAnotherClient() async throws {
        let secret = try await TestClient().secret(for: "com.example.other")
        #expect(try await !isValid(secret))
    }

    @Test func refusesWhatHasTheWrongShape() async throws {
        var client = TestClient()
        client.audience = "https://example.com"
        #expect(try await !isValid(client.secret()))
        client = TestClient(lifetime: 15_777_001)
        #expect(try await !isValid(client.secret()))
        client = TestClient(issuedAt: now - 600, lifetime: 300)
        #expect(try await !isValid(client.secret()))
        client = TestClient(issuedAt: now + 3_600)
        #expect(try await !isValid(client.secret()))
        client = TestClient(issuer: "")
        #expect(try await !isValid(client.secret()))
        client = TestClient(keyIdentifier: "")
        #expect(try await !isValid(client.secret()))
        for text in ["", "a.b", "a.b.c", "{}.{}.{}", "====.====.===="] {
            #expect(try await !isValid(text))
        }
    }

    @Test func refusesASharedSecret() async throws {
        let keys = await JWTKeyCollection().add(
            hmac: "a secret of thirty-two bytes at least", digestAlgorithm: .sha256, kid: "k")
        let claims = TestClient.Claims(
            iss: "TEAM", sub: "com.example.app", aud: "https://appleid.apple.com", iat: now, exp: now + 60)
        let secret = try await keys.sign(claims, kid: "k")
        #expect(try await !isValid(secret))
    }
}
