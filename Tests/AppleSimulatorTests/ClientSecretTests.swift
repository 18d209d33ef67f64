@testable import AppleSimulator
import Bytes
import Crypto
import Foundation
import Testing

@Suite struct ClientSecretTests {
    private let now = Int(Date().timeIntervalSince1970)

    private func isValid(
        _ secret: String, clientID: String = "com.example.app", privateKey: String? = nil
    ) throws -> Bool {
        try ClientSecret(privateKey: privateKey).isValid(secret, clientID: clientID, now: now)
    }

    @Test func acceptsWhatAppleAccepts() throws {
        let client = TestClient()
        let secret = try client.secret()
        #expect(try isValid(secret))
        #expect(try isValid(secret, privateKey: client.key.pemRepresentation))
    }

    @Test func refusesASignatureOfAnotherKey() throws {
        let secret = try TestClient().secret()
        #expect(try !isValid(secret, privateKey: P256.Signing.PrivateKey().pemRepresentation))
    }

    @Test func refusesAnotherClient() throws {
        let secret = try TestClient().secret(for: "com.example.other")
        #expect(try !isValid(secret))
    }

    @Test func refusesWhatHasTheWrongShape() throws {
        var client = TestClient()
        client.audience = "https://example.com"
        #expect(try !isValid(client.secret()))
        client = TestClient(lifetime: 15_777_001)
        #expect(try !isValid(client.secret()))
        client = TestClient(issuedAt: now - 600, lifetime: 300)
        #expect(try !isValid(client.secret()))
        client = TestClient(issuedAt: now + 3_600)
        #expect(try !isValid(client.secret()))
        client = TestClient(issuer: "")
        #expect(try !isValid(client.secret()))
        client = TestClient(keyIdentifier: "")
        #expect(try !isValid(client.secret()))
        for text in ["", "a.b", "a.b.c", "{}.{}.{}", "====.====.===="] {
            #expect(try !isValid(text))
        }
    }

    @Test func refusesASharedSecret() throws {
        let input = try TestClient().signingInput(algorithm: "HS256")
        let code = HMAC<SHA256>.authenticationCode(
            for: Data(input.utf8), using: SymmetricKey(data: Data("a secret of thirty-two bytes at least".utf8)))
        #expect(try !isValid("\(input).\(Base64URL.string(Data(code)))"))
    }
}
