import Foundation
import GatehouseBytes
import Testing

@testable import GatehouseAccessTokens

@Suite struct AccessTokenTests {
    @Test func whatIsSignedIsRead() throws {
        let token = try AccessTokenSigner(key: TestKey.signing).sign(Forge.claims)
        #expect(try Forge.verifier.verify(token, now: Forge.now) == Forge.claims)
        #expect(try Forge.verifier.verify(Array(token.utf8), now: Forge.now) == Forge.claims)
    }

    @Test func theForgeWritesGoodTokensWhenItChangesNothing() throws {
        #expect(Forge.refusal(try Forge.token()) == nil)
    }

    @Test func headerAndClaimsHaveTheNamesOfTheContract() throws {
        let token = try AccessTokenSigner(key: TestKey.signing).sign(Forge.claims)
        let parts = token.split(separator: ".").map { String($0) }
        let header = try JSONSerialization.jsonObject(with: Data(try #require(Base64URL.decode(parts[0]))))
        #expect(header as? [String: String] == ["alg": "RS256", "typ": "at+jwt", "kid": TestKey.kid])
        let payload = try JSONSerialization.jsonObject(with: Data(try #require(Base64URL.decode(parts[1]))))
        let claims = try #require(payload as? [String: Any])
        #expect(
            Set(claims.keys) == [
                "iss", "aud", "sub", "sid", "jti", "iat", "exp", "client_id", "role", "store_ids", "email",
                "email_verified", "auth_time", "amr",
            ])
        #expect(claims["sub"] as? String == "0e4e9c5b-8b7c-4e0a-9e6e-0a8f3e6c1d2f")
        #expect(claims["exp"] as? Int64 == Forge.now + 3540)
        #expect(claims["email_verified"] as? Bool == false)
        #expect(claims["auth_time"] as? Int64 == Forge.now - 600)
        #expect(claims["amr"] as? [String] == ["otp", "sms"])
    }

    /// An address is verified only where the token says so, and says so of an address.
    @Test func anAddressIsVerifiedWhereTheTokenSaysSo() throws {
        func isVerified(_ changes: [String: String?]) throws -> Bool {
            let token = try Forge.token(payload: Forge.changing(Forge.payload, changes))
            return try Forge.verifier.verify(token, now: Forge.now).isEmailVerified
        }
        let email = #""ada@example.com""#
        #expect(try isVerified(["email": email, "email_verified": "true"]))
        #expect(try !isVerified(["email": email, "email_verified": "false"]))
        #expect(try !isVerified(["email": email]))
        #expect(try !isVerified(["email_verified": "true"]))
        for value in [#""true""#, "1", "null", "tru", "True", "[true]"] {
            #expect(throws: AccessTokenError.self) { try isVerified(["email": email, "email_verified": value]) }
        }
        var claims = Forge.claims
        claims.isEmailVerified = true
        let token = try AccessTokenSigner(key: TestKey.signing).sign(claims)
        #expect(try Forge.verifier.verify(token, now: Forge.now) == claims)
        claims.email = nil
        #expect(!String(decoding: claims.json, as: UTF8.self).contains("email"))
    }

    /// A token from before these claims is as good as ever; it does not tell when its user last authenticated.
    @Test func aTokenNeedNotTellOfItsAuthentication() throws {
        func claims(_ changes: [String: String?]) throws -> AccessTokenClaims {
            let token = try Forge.token(payload: Forge.changing(Forge.payload, changes))
            return try Forge.verifier.verify(token, now: Forge.now)
        }
        let silent = try claims([:])
        #expect(silent.authenticationTime == nil && silent.authenticationMethods == [])
        #expect(!String(decoding: silent.json, as: UTF8.self).contains("auth_time"))
        let told = try claims(["auth_time": "\(Forge.now - 5)", "amr": #"["pwd"]"#])
        #expect(told.authenticationTime == Forge.now - 5 && told.authenticationMethods == ["pwd"])
        for time in [#""1700000000""#, "1.5", "-1", "null", "1e9", "253402300800", "[1]"] {
            #expect(throws: AccessTokenError.self, "\(time)") { try claims(["auth_time": time]) }
        }
        for methods in [#""pwd""#, "[1]", #"[""]"#, #"["a\u000d\u000aX: y"]"#, "null", "{}"] {
            #expect(throws: AccessTokenError.self, "\(methods)") { try claims(["amr": methods]) }
        }
    }

    @Test(arguments: ["ÄÖ \"quoted\" \\ / 🚲", "a\u{301}", "\u{2028}"])
    func textOfAnyLanguageSurvives(role: String) throws {
        var claims = Forge.claims
        claims.role = role
        claims.storeIDs = [role, "plain"]
        claims.email = nil
        let token = try AccessTokenSigner(key: TestKey.signing).sign(claims)
        #expect(try Forge.verifier.verify(token, now: Forge.now) == claims)
    }

    @Test func aTokenThatNobodyWouldTakeIsNotSigned() throws {
        var claims = Forge.claims
        claims.storeIDs = (0..<400).map { "store-with-a-long-name-\($0)" }
        let error = #expect(throws: AccessTokenError.self) {
            try AccessTokenSigner(key: TestKey.signing).sign(claims)
        }
        #expect(error?.code == .tooLong)
    }

    @Test func expiryIsTheFirstSecondThatIsRefused() throws {
        let token = try Forge.token()
        #expect(Forge.refusal(token, now: Forge.now + 3539) == nil)
        #expect(Forge.refusal(token, now: Forge.now + 3540) == .expired)
    }

    @Test func leewayMovesBothEnds() throws {
        let lenient = try AccessTokenVerifier(
            issuer: "http://gatehouse.localhost", audience: "gatehouse",
            keys: VerificationKeySet(keys: [TestKey.signing.publicKey]), leeway: 5)
        let token = try Forge.token(payload: Forge.changing(Forge.payload, ["nbf": "\(Forge.now)"]))
        #expect(throws: Never.self) { try lenient.verify(token, now: Forge.now + 3544) }
        #expect(throws: AccessTokenError.self) { try lenient.verify(token, now: Forge.now + 3545) }
        #expect(throws: Never.self) { try lenient.verify(token, now: Forge.now - 5) }
        #expect(throws: AccessTokenError.self) { try lenient.verify(token, now: Forge.now - 6) }
        #expect(Forge.refusal(token, now: Forge.now - 1) == .notYetValid)
    }

    @Test func unknownClaimsArePassedOver() throws {
        let extra = #"{"a":[1,-2.5e+3,true,null,{"b":"\u00e4"}]}"#
        #expect(Forge.refusal(try Forge.token(payload: Forge.changing(Forge.payload, ["x": extra]))) == nil)
    }

    @Test func onlyTheKeyNamedByTheHeaderCounts() throws {
        let keys = try VerificationKeySet(keys: [TestKey.signing.publicKey, TestKey.other.publicKey])
        let verifier = try AccessTokenVerifier(
            issuer: "http://gatehouse.localhost", audience: "gatehouse", keys: keys)
        let swapped = Forge.changing(Forge.header, ["kid": "\"\(TestKey.other.publicKey.thumbprint)\""])
        #expect(throws: Never.self) {
            try verifier.verify(Forge.token(header: swapped, key: TestKey.other), now: Forge.now)
        }
        let error = #expect(throws: AccessTokenError.self) {
            try verifier.verify(Forge.token(header: swapped), now: Forge.now)
        }
        #expect(error?.code == .badSignature)
    }

    @Test func manyThreadsShareOneVerifierAndOneSigner() async throws {
        let signer = try AccessTokenSigner(key: TestKey.signing)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    for _ in 0..<20 {
                        var claims = Forge.claims
                        claims.role = "role-\(index)"
                        let token = try signer.sign(claims)
                        #expect(try Forge.verifier.verify(token, now: Forge.now) == claims)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
