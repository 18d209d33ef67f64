import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseTokenValidation
import Testing

@testable import GatehouseAccessTokens
@testable import GatewayService

@Suite("A token that may be of several issuers")
struct SeveralIssuersTests {
    private let now = Int64(Date.now.timeIntervalSince1970)
    private let signing = try! RSAPrivateKey.generate()

    /// Other keys than the one that signs, under its `kid`.
    private func otherKeys() throws -> VerificationKeySet {
        let kid = VerbatimString(signing.publicKey.thumbprint)
        return try VerificationKeySet([(kid: kid, key: .rsa(GatewayHarness.key.publicKey))])
    }

    /// - Returns: the outcome on a route that accepts the tokens of Gatehouse and of the partner.
    private func outcome(
        of token: String, own: VerificationKeySet, partner: VerificationKeySet, partnerTrustedUntil: Int64 = .max
    ) throws -> String {
        let gatehouse = TrustedIssuer(issuer: "http://gatehouse.test", audience: "gatehouse")
        let keys = IssuerKeys(issuers: [gatehouse, TrustedIssuer.partner])
        try keys.replace(own)
        try keys.replace(partner, of: 1, trustedUntil: partnerTrustedUntil)
        let revoked = RevokedSessions(maximumStaleness: 3600)
        revoked.apply([], isEnd: true, now: now)
        let bearers = CachingBearerVerifier(keys: keys, revoked: revoked, cacheCapacity: 1)
        let verification = Array(token.utf8).withUnsafeBytes {
            bearers.verify($0, from: [VerbatimString(TrustedIssuer.partner.issuer)], now: now)
        }
        switch verification {
        case .accepted: return "accepted"
        case .waitsForKeys: return "waits"
        case .refused(let code): return code.rawValue
        }
    }

    private func partnerToken(expiresIn: Int64 = 600) throws -> String {
        var claims = GatewayHarness.claims(expiresIn: expiresIn, audience: TrustedIssuer.partner.audience)
        claims.issuer = TrustedIssuer.partner.issuer
        // By the clock of `outcome`: making the keys may take seconds.
        claims.expiresAt = now + expiresIn
        return try GatewayHarness.token(claims, key: signing)
    }

    @Test("An issuer's next key is fetched although another issuer uses its kid for another key")
    func unknownKey() throws {
        let known = try VerificationKeySet(keys: [GatewayHarness.key.publicKey])
        let own = try outcome(of: GatewayHarness.token(key: signing), own: known, partner: otherKeys())
        #expect(own == "waits")
        let partners = try outcome(of: partnerToken(), own: otherKeys(), partner: known)
        #expect(partners == "waits")
    }

    @Test("An issuer's next key is fetched although another issuer has it already")
    func sharedKeys() throws {
        let (known, next) = (
            try VerificationKeySet(keys: [GatewayHarness.key.publicKey]),
            try VerificationKeySet(keys: [signing.publicKey])
        )
        let partners = try outcome(of: partnerToken(), own: next, partner: known)
        #expect(partners == "waits")
    }

    @Test("A token is not refused while the keys of one of the issuers are too old")
    func oldKeys() throws {
        let keys = try VerificationKeySet(keys: [signing.publicKey])
        let partners = try outcome(of: partnerToken(), own: otherKeys(), partner: keys, partnerTrustedUntil: 1)
        #expect(partners == "waits")
    }

    @Test("An expired token is refused as expired although another issuer uses its kid for another key")
    func expired() throws {
        let keys = try VerificationKeySet(keys: [signing.publicKey])
        let partners = try outcome(of: partnerToken(expiresIn: -1), own: otherKeys(), partner: keys)
        #expect(partners == "TOKEN_EXPIRED")
    }
}
