import Crypto
import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import Testing

@testable import AppleSimulator

/// Sign in with Apple as identity meets it: signed tokens, codes that are exchanged once, revocation, client secrets.
@Suite struct AppleAccountsTests {
    private static let now = 1_800_000_000
    /// Generated once, because RSA keys are slow to generate.
    private static let keys = Task { try await SigningKeys() }
    private let client = TestClient(issuedAt: Self.now)

    private func makeAccounts() async throws -> AppleAccounts {
        AppleAccounts(
            keys: try await Self.keys.value,
            clientSecret: try ClientSecret(privateKey: client.key.pemRepresentation), audience: "com.example.app",
            issuer: "https://appleid.apple.com", now: { Self.now })
    }

    /// The claims of a token that a published key has signed.
    private func verify(_ token: String, with accounts: AppleAccounts) async throws -> IdentityTokenClaims {
        let keys = try VerificationKeySet(
            jwks: Array(JSONEncoder().encode(["keys": await accounts.publishedKeys])))
        let parts = try CompactParts(Array(token.utf8))
        let header = try JSONDecoder().decode(
            [String: String].self, from: Data(#require(Base64URL.decode(parts.header))))
        let key = try #require(keys[header["kid"] ?? ""])
        return try JSONDecoder().decode(IdentityTokenClaims.self, from: Data(SignatureVerifier(key).payload(of: parts)))
    }

    private func exchange(
        _ accounts: AppleAccounts, _ fields: [String: String], clientID: String = "com.example.app"
    ) async throws -> TokenResponse {
        try await accounts.exchange(ClientForm(fields: client.form(fields, clientID: clientID)))
    }

    private func exchange(
        _ accounts: AppleAccounts, code: String, clientID: String = "com.example.app"
    ) async throws -> TokenResponse {
        try await exchange(accounts, ["grant_type": "authorization_code", "code": code], clientID: clientID)
    }

    @Test("A sign-in: the signed token has Apple's claims and the request's nonce")
    func identityToken() async throws {
        let accounts = try await makeAccounts()
        let signIn = try await accounts.signIn(
            SignInRequest(email: "ada@example.com", isPrivateEmail: true, nonce: "n0"))
        let claims = try await verify(signIn.identityToken, with: accounts)
        #expect(claims.iss == "https://appleid.apple.com" && claims.aud == "com.example.app")
        #expect(claims.sub == signIn.sub && claims.nonce == "n0" && claims.nonce_supported)
        #expect(claims.email == "ada@example.com" && claims.is_private_email?.value == true)
        #expect(claims.email_verified?.value == true && claims.email_verified?.asString == false)
        #expect(claims.iat == Self.now && claims.auth_time == Self.now && claims.exp == Self.now + 600)

        let bare = try await verify(accounts.signIn(SignInRequest()).identityToken, with: accounts)
        #expect(bare.email == nil && bare.email_verified == nil && bare.is_private_email == nil && bare.nonce == nil)
    }

    @Test("A code: its client exchanges it once, and the refresh token serves again")
    func codeExchange() async throws {
        let accounts = try await makeAccounts()
        let signIn = try await accounts.signIn(SignInRequest())
        let tokens = try await exchange(accounts, code: signIn.authorizationCode)
        #expect(try await verify(tokens.id_token ?? "", with: accounts).sub == signIn.sub)
        await #expect(throws: OAuthError.invalidGrant) { try await exchange(accounts, code: signIn.authorizationCode) }
        let refreshToken = try #require(tokens.refresh_token)
        let refreshed = try await exchange(accounts, ["grant_type": "refresh_token", "refresh_token": refreshToken])
        #expect(refreshed.refresh_token == nil && refreshed.access_token != tokens.access_token)

        let other = try await accounts.signIn(SignInRequest()).authorizationCode
        await #expect(throws: OAuthError.invalidGrant) {
            try await exchange(accounts, code: other, clientID: "com.example.other")
        }
    }

    @Test("A code is five minutes old: it has expired", arguments: [299, 300])
    func codeExpiry(_ age: Int) {
        var codes = AuthorizationCodes()
        codes.issue("c", for: Grant(SignInRequest(), audience: "a", issuer: "i", sub: "s"), now: Self.now)
        let grant = codes.redeem("c", now: Self.now + age)
        #expect((grant == nil) == (age >= 300))
    }

    @Test(
        "Either token is revoked: the refresh token ends, and another client cannot revoke", arguments: [true, false])
    func revocation(_ ofAccessToken: Bool) async throws {
        let accounts = try await makeAccounts()
        let tokens = try await exchange(accounts, code: accounts.signIn(SignInRequest()).authorizationCode)
        let refreshToken = try #require(tokens.refresh_token)
        let form = ["token": ofAccessToken ? tokens.access_token : refreshToken]
        await #expect(throws: OAuthError.invalidGrant) {
            try await accounts.revoke(ClientForm(fields: client.form(form, clientID: "com.example.other")))
        }
        for _ in 1...2 { try await accounts.revoke(ClientForm(fields: client.form(form))) }
        await #expect(throws: OAuthError.invalidGrant) {
            try await exchange(accounts, ["grant_type": "refresh_token", "refresh_token": refreshToken])
        }
    }

    @Test("A client secret: Apple's form and the client's signature are required")
    func clientSecrets() throws {
        let verifier = try ClientSecret(privateKey: client.key.pemRepresentation)
        func isValid(_ change: (inout TestClient) -> Void = { _ in }) throws -> Bool {
            var client = client
            change(&client)
            return try verifier.isValid(client.secret(), clientID: "com.example.app", now: Self.now)
        }
        #expect(try isValid())
        let invalid: [(inout TestClient) -> Void] = [
            { $0.key = .init() }, { $0.audience = "https://example.com" }, { $0.lifetime = 15_777_001 },
            { $0.issuedAt -= 600 }, { $0.issuedAt += 3_600 }, { $0.issuer = "" }, { $0.keyIdentifier = "" },
            { $0.algorithm = "HS256" },
        ]
        for (index, change) in invalid.enumerated() { #expect(try !isValid(change), "\(index)") }
        for secret in [try client.secret(for: "com.example.other"), "", "a.b.c", "====.====.===="] {
            #expect(!verifier.isValid(secret, clientID: "com.example.app", now: Self.now))
        }
    }
}

/// A client that signs client secrets.
private struct TestClient {
    var key = P256.Signing.PrivateKey()
    var issuer = "TEAM123456"
    var audience = "https://appleid.apple.com"
    var keyIdentifier = "KEY1234567"
    var algorithm = "ES256"
    var issuedAt: Int
    var lifetime = 300

    private struct Claims: Encodable {
        var iss, sub, aud: String
        var iat, exp: Int
    }

    func secret(for clientID: String = "com.example.app") throws -> String {
        let header = try JSONEncoder().encode(["alg": algorithm, "kid": keyIdentifier])
        let claims = try JSONEncoder().encode(
            Claims(iss: issuer, sub: clientID, aud: audience, iat: issuedAt, exp: issuedAt + lifetime))
        let input = "\(Base64URL.string(header)).\(Base64URL.string(claims))"
        return "\(input).\(Base64URL.string(try key.signature(for: Data(input.utf8)).rawRepresentation))"
    }

    func form(_ fields: [String: String], clientID: String = "com.example.app") throws -> [String: String] {
        fields.merging(["client_id": clientID, "client_secret": try secret(for: clientID)]) { given, _ in given }
    }
}
