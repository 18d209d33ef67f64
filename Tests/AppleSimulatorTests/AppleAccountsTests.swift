@testable import AppleSimulator
import Crypto
import Foundation
import Testing

@Suite struct AppleAccountsTests {
    private let client = TestClient()

    /// Made once: an RSA key takes its time.
    private static let keys = Task { try await SigningKeys() }

    private func makeAccounts() async throws -> AppleAccounts {
        AppleAccounts(
            keys: try await Self.keys.value,
            clientSecret: try ClientSecret(privateKey: client.key.pemRepresentation), audience: "com.example.app",
            issuer: "https://appleid.apple.com")
    }

    /// Verifies with what the simulator publishes, as identity would.
    private func verify<Claims: Decodable>(
        _ token: String, as claims: Claims.Type = IdentityTokenClaims.self, with accounts: AppleAccounts
    ) async throws -> Claims {
        let keys = try JSONEncoder().encode(["keys": await accounts.publishedKeys])
        return try verifiedClaims(claims, of: token, keys: keys)
    }

    private func exchange(
        _ accounts: AppleAccounts, _ fields: [String: String], clientID: String = "com.example.app"
    ) async throws -> TokenResponse {
        try await accounts.exchange(ClientForm(fields: client.form(fields, clientID: clientID)))
    }

    private func exchange(_ accounts: AppleAccounts, code: String) async throws -> TokenResponse {
        try await exchange(accounts, ["grant_type": "authorization_code", "code": code])
    }

    @Test func aSignInHasApplesClaims() async throws {
        let accounts = try await makeAccounts()
        let before = Int(Date().timeIntervalSince1970)
        let signIn = try await accounts.signIn(
            SignInRequest(email: "ada@example.com", isPrivateEmail: true, nonce: "n0"))
        let claims = try await verify(signIn.identityToken, with: accounts)
        #expect(claims.iss == "https://appleid.apple.com")
        #expect(claims.aud == "com.example.app")
        #expect(claims.sub == signIn.sub)
        #expect(claims.nonce == "n0" && claims.nonce_supported)
        #expect(claims.email == "ada@example.com")
        #expect(claims.email_verified?.value == true && claims.email_verified?.asString == false)
        #expect(claims.is_private_email?.value == true)
        #expect(claims.iat >= before && claims.auth_time == claims.iat && claims.exp == claims.iat + 600)
    }

    @Test func aSignInIsAsAsked() async throws {
        let accounts = try await makeAccounts()
        let signIn = try await accounts.signIn(
            SignInRequest(
                sub: "known", email: "ada@example.com", emailVerified: false, audience: "com.example.other",
                expiresIn: -60, issuer: "https://account.apple.com", booleansAsStrings: true))
        let claims = try await verify(signIn.identityToken, with: accounts)
        #expect(signIn.sub == "known" && claims.sub == "known")
        #expect(claims.iss == "https://account.apple.com" && claims.aud == "com.example.other")
        #expect(claims.exp == claims.iat - 60)
        #expect(claims.email_verified?.value == false && claims.email_verified?.asString == true)
    }

    @Test func withoutAnEmailNothingIsSaidOfIt() async throws {
        let accounts = try await makeAccounts()
        let claims = try await verify(accounts.signIn(SignInRequest()).identityToken, with: accounts)
        #expect(claims.email == nil && claims.email_verified == nil && claims.is_private_email == nil)
        #expect(claims.nonce == nil)
    }

    @Test func aCodeIsExchangedOnce() async throws {
        let accounts = try await makeAccounts()
        let signIn = try await accounts.signIn(SignInRequest(email: "ada@example.com"))
        let tokens = try await exchange(accounts, code: signIn.authorizationCode)
        #expect(tokens.token_type == "Bearer" && tokens.expires_in == 3600 && !tokens.access_token.isEmpty)
        #expect(try await verify(tokens.id_token ?? "", with: accounts).sub == signIn.sub)
        await #expect(throws: OAuthError.invalidGrant) {
            try await exchange(accounts, code: signIn.authorizationCode)
        }
        let refreshToken = try #require(tokens.refresh_token)
        let refreshed = try await exchange(accounts, ["grant_type": "refresh_token", "refresh_token": refreshToken])
        #expect(refreshed.refresh_token == nil && refreshed.access_token != tokens.access_token)
    }

    @Test func anotherClientGetsNothing() async throws {
        let accounts = try await makeAccounts()
        let signIn = try await accounts.signIn(SignInRequest())
        await #expect(throws: OAuthError.invalidGrant) {
            try await exchange(
                accounts, ["grant_type": "authorization_code", "code": signIn.authorizationCode],
                clientID: "com.example.other")
        }
        await #expect(throws: OAuthError.invalidClient) {
            try await accounts.exchange(
                ClientForm(fields: [
                    "grant_type": "authorization_code", "code": "c", "client_id": "com.example.app",
                    "client_secret": "nonsense",
                ]))
        }
    }

    @Test func incompleteRequestsAreRefused() async throws {
        let accounts = try await makeAccounts()
        await #expect(throws: OAuthError.invalidRequest) { try await accounts.exchange(ClientForm(fields: [:])) }
        await #expect(throws: OAuthError.invalidRequest) { try await exchange(accounts, [:]) }
        await #expect(throws: OAuthError.invalidRequest) {
            try await exchange(accounts, ["grant_type": "authorization_code"])
        }
        await #expect(throws: OAuthError.invalidRequest) {
            try await exchange(accounts, ["grant_type": "refresh_token"])
        }
        await #expect(throws: OAuthError.unsupportedGrantType) {
            try await exchange(accounts, ["grant_type": "password"])
        }
        await #expect(throws: OAuthError.invalidGrant) {
            try await exchange(accounts, ["grant_type": "refresh_token", "refresh_token": "r"])
        }
        await #expect(throws: OAuthError.invalidRequest) {
            try await accounts.revoke(ClientForm(fields: client.form([:])))
        }
    }

    @Test(arguments: [true, false])
    func revokingEitherTokenEndsTheConsent(_ accessToken: Bool) async throws {
        let accounts = try await makeAccounts()
        let tokens = try await exchange(accounts, code: accounts.signIn(SignInRequest()).authorizationCode)
        let refreshToken = try #require(tokens.refresh_token)
        let token = accessToken ? tokens.access_token : refreshToken
        await #expect(throws: OAuthError.invalidGrant) {
            try await accounts.revoke(ClientForm(fields: client.form(["token": token], clientID: "com.example.other")))
        }
        for _ in 1...2 {
            try await accounts.revoke(ClientForm(fields: client.form(["token": token])))
        }
        await #expect(throws: OAuthError.invalidGrant) {
            try await exchange(accounts, ["grant_type": "refresh_token", "refresh_token": refreshToken])
        }
    }

    @Test func keysRotate() async throws {
        let accounts = try await makeAccounts()
        let old = try await accounts.signIn(SignInRequest()).identityToken
        let before = await accounts.publishedKeys
        #expect(before.count == 2 && before.allSatisfy { $0.alg == "RS256" && $0.kty == "RSA" && $0.use == "sig" })
        let after = try await accounts.rotateKeys()
        #expect(after.count == 2 && after[1] == before[0] && after[0] != before[0])
        #expect(try await verify(old, with: accounts).aud == "com.example.app", "the last key is still published")
        let new = try await accounts.signIn(SignInRequest()).identityToken
        #expect(try await verify(new, with: accounts).aud == "com.example.app")
        _ = try await accounts.rotateKeys()
        await #expect(throws: (any Error).self) { try await verify(old, with: accounts) }
    }

    @Test func notificationsAreSignedEvents() async throws {
        let accounts = try await makeAccounts()
        let payload = try await accounts.notify(
            NotificationRequest(type: "email-disabled", sub: "1.2.3", email: "x@privaterelay.appleid.com")
        ).payload
        let claims = try await verify(payload, as: NotificationClaims.self, with: accounts)
        #expect(claims.aud == "com.example.app" && !claims.jti.isEmpty)
        struct Event: Decodable { var type, sub, email, is_private_email: String }
        guard case .text(let events) = claims.events else { return #expect(Bool(false)) }
        let event = try JSONDecoder().decode(Event.self, from: Data(events.utf8))
        #expect(event.type == "email-disabled" && event.sub == "1.2.3" && event.is_private_email == "true")
    }
}
