import Foundation
import GatehouseBytes

@testable import GatehouseAccessTokens

/// One key for the whole run: making one takes a tenth of a second.
enum TestKey {
    static let signing = try! RSAPrivateKey.generate()
    static let other = try! RSAPrivateKey.generate()
    static let kid = signing.publicKey.thumbprint
}

/// Writes tokens that an honest signer would not, with a signature that is good unless said otherwise.
struct Forge {
    static let now: Int64 = 1_750_000_000
    static let verifier = try! AccessTokenVerifier(
        issuer: "http://gatehouse.localhost", audience: "gatehouse",
        keys: VerificationKeySet(keys: [TestKey.signing.publicKey]))

    static let claims = AccessTokenClaims(
        issuer: "http://gatehouse.localhost", audience: "gatehouse",
        subject: UUID(uuidString: "0E4E9C5B-8B7C-4E0A-9E6E-0A8F3E6C1D2F")!,
        sessionID: UUID(uuidString: "7C9E6679-7425-40DE-944B-E07FC1F90AE7")!,
        tokenID: UUID(uuidString: "A3BB189E-8BF9-3888-9912-ACE4E6543002")!,
        issuedAt: now - 60, expiresAt: now + 3540, clientID: "com.example.app", role: "courier",
        storeIDs: ["store-1", "store 2"], email: "ada@example.com",
        authenticationTime: now - 600, authenticationMethods: ["otp", "sms"])

    /// The members of a good header, as JSON text each.
    static let header = ["alg": #""RS256""#, "typ": #""at+jwt""#, "kid": "\"\(TestKey.kid)\""]

    /// The members of good claims, as JSON text each.
    static let payload = [
        "iss": #""http://gatehouse.localhost""#, "aud": #""gatehouse""#,
        "sub": #""0e4e9c5b-8b7c-4e0a-9e6e-0a8f3e6c1d2f""#, "sid": #""7c9e6679-7425-40de-944b-e07fc1f90ae7""#,
        "jti": #""a3bb189e-8bf9-3888-9912-ace4e6543002""#, "iat": "\(now - 60)", "exp": "\(now + 3540)",
        "client_id": #""com.example.app""#, "role": #""courier""#, "store_ids": #"["store-1"]"#,
    ]

    static func json(_ members: [String: String]) -> String {
        "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    /// `base` with `changes` made; `nil` removes a member.
    static func changing(_ base: [String: String], _ changes: [String: String?]) -> String {
        json(base.merging(changes.compactMapValues { $0 }) { $1 }.filter { changes[$0.key] != .some(nil) })
    }

    static func token(
        header: String = json(header), payload: String = json(payload), key: RSAPrivateKey = TestKey.signing
    ) throws -> String {
        try signed(Base64URL.string(header.utf8) + "." + Base64URL.string(payload.utf8), key: key)
    }

    /// `input`, a dot, and the key's signature over `input`, whatever it is.
    static func signed(_ input: String, key: RSAPrivateKey = TestKey.signing) throws -> String {
        let signature = try RSAContext(key.copy(), for: .signing).sign(Array(input.utf8)[...])
        return input + "." + Base64URL.string(signature)
    }

    /// The code a token is refused with; `nil` when it is taken.
    static func refusal(_ token: String, now: Int64 = now) -> AccessTokenError.Code? {
        do throws(AccessTokenError) {
            _ = try verifier.verify(token, now: now)
            return nil
        } catch {
            return error.code
        }
    }
}
