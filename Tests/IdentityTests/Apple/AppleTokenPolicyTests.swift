import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials

@Suite struct AppleTokenPolicyTests {
    private let now: Int64 = 1_800_000_000
    private var policy = AppleTokenPolicy(
        issuers: AppleTokenPolicy.appleIssuers, clientIDs: ["com.example.app", "com.example.web"], nonceRule: .optional)

    private func claims(_ change: (inout AppleIdentityClaims) -> Void = { _ in }) -> AppleIdentityClaims {
        var claims = AppleIdentityClaims(
            issuer: "https://appleid.apple.com", subject: "001234.abc", audience: "com.example.app", issuedAt: now - 5,
            expiresAt: now + 600)
        change(&claims)
        return claims
    }

    private func flaw(_ claims: AppleIdentityClaims, nonce: String? = nil) -> AppleTokenPolicy.Flaw? {
        do {
            try policy.check(claims, nonce: nonce, now: now)
            return nil
        } catch {
            return error
        }
    }

    @Test func bothOfApplesNamesAndEveryIdentifierOfTheAppCount() {
        #expect(flaw(claims()) == nil)
        #expect(flaw(claims { $0.issuer = "https://account.apple.com" }) == nil)
        #expect(flaw(claims { $0.audience = "com.example.web" }) == nil)
        for issuer in ["", "https://appleid.apple.com/", "http://appleid.apple.com", "appleid.apple.com"] {
            #expect(flaw(claims { $0.issuer = issuer }) == .issuer)
        }
        for audience in ["", "com.example", "com.example.app2", "COM.EXAMPLE.APP"] {
            #expect(flaw(claims { $0.audience = audience }) == .audience)
        }
        // Equivalent to Unicode, another name to everybody else.
        var other = policy
        other.issuers = ["https://caf\u{E9}.test"]
        other.clientIDs = ["com.example.Kitchen"]
        for (issuer, audience, expected) in [
            ("https://caf\u{E9}.test", "com.example.Kitchen", nil),
            ("https://cafe\u{301}.test", "com.example.Kitchen", .issuer),
            ("https://caf\u{E9}.test", "com.example.\u{212A}itchen", .audience),
        ] as [(String, String, AppleTokenPolicy.Flaw?)] {
            let changed = claims {
                $0.issuer = issuer
                $0.audience = audience
            }
            var found: AppleTokenPolicy.Flaw?
            do throws(AppleTokenPolicy.Flaw) {
                try other.check(changed, nonce: nil, now: now)
            } catch {
                found = error
            }
            #expect(found == expected)
        }
        #expect(flaw(claims { $0.subject = "" }) == .subject)
        #expect(flaw(claims { $0.subject = String(repeating: "a", count: 256) }) == .subject)
    }

    @Test func timesAreHeldToTheirLimits() {
        #expect(flaw(claims { $0.issuedAt = now + 60 }) == nil)
        #expect(flaw(claims { $0.issuedAt = now + 61 }) == .issuedInFuture)
        #expect(flaw(claims { $0.issuedAt = now - 3600 }) == nil)
        #expect(flaw(claims { $0.issuedAt = now - 3601 }) == .tooOld)
        #expect(flaw(claims { $0.expiresAt = now - 59 }) == nil)
        #expect(flaw(claims { $0.expiresAt = now - 60 }) == .expired)
        #expect(flaw(claims { $0.issuedAt = .min }) == .issuedInFuture)
        #expect(flaw(claims { $0.issuedAt = .max }) == .issuedInFuture)
        #expect(flaw(claims { $0.expiresAt = .min }) == .expired)
        #expect(flaw(claims { $0.notBefore = now + 60 }) == nil)
        #expect(flaw(claims { $0.notBefore = now + 61 }) == .notYetValid)
    }

    @Test func noncesMatchOrAreRefused() {
        let hash = sha256Hex("raw")
        #expect(hash.count == 64)
        #expect(flaw(claims { $0.nonce = "raw" }, nonce: "raw") == nil)
        #expect(flaw(claims { $0.nonce = hash }, nonce: "raw") == nil)
        #expect(flaw(claims { $0.nonce = hash.uppercased() }, nonce: "raw") == nil)
        #expect(flaw(claims { $0.nonce = "raw" }, nonce: hash) == .nonceMismatch)
        #expect(flaw(claims { $0.nonce = "other" }, nonce: "raw") == .nonceMismatch)
        #expect(flaw(claims { $0.nonce = "" }, nonce: "raw") == .nonceMismatch)
        #expect(flaw(claims { $0.nonce = "cafe\u{301}" }, nonce: "caf\u{E9}") == .nonceMismatch)
        #expect(flaw(claims { $0.nonce = "raw" }) == .nonceMissing)
        #expect(flaw(claims(), nonce: "raw") == .nonceMissing)
        #expect(flaw(claims { $0.nonceSupported = true }, nonce: "raw") == .nonceMissing)
        #expect(flaw(claims { $0.nonceSupported = false }, nonce: "raw") == nil)
    }

    @Test func requiredMeansRequired() throws {
        var strict = policy
        strict.nonceRule = .required
        try strict.check(claims { $0.nonce = "raw" }, nonce: "raw", now: now)
        for (claims, nonce) in [
            (claims(), nil), (claims(), "raw"), (claims { $0.nonceSupported = false }, "raw"),
            (claims { $0.nonce = "raw" }, nil),
        ] as [(AppleIdentityClaims, String?)] {
            #expect(throws: AppleTokenPolicy.Flaw.nonceMissing) { try strict.check(claims, nonce: nonce, now: now) }
        }
    }

    @Test func readsTruthInEverySpelling() throws {
        func decode(_ fields: String) throws -> AppleIdentityClaims {
            let json = #"{"iss":"i","sub":"s","aud":"a","iat":1,"exp":2"# + fields + "}"
            return try StrictJSON.decode(AppleIdentityClaims.self, from: Array(json.utf8))
        }
        let asStrings = try decode(#","email":"a@b.co","email_verified":"true","is_private_email":"true""#)
        #expect(asStrings.emailVerified && asStrings.isPrivateEmail)
        let asBooleans = try decode(#","email_verified":true,"is_private_email":false,"nonce_supported":false"#)
        #expect(asBooleans.emailVerified && !asBooleans.isPrivateEmail && asBooleans.nonceSupported == false)
        let absent = try decode("")
        #expect(!absent.emailVerified && absent.email == nil && absent.nonceSupported == nil)
        #expect(throws: Problem.self) { try decode(#","email_verified":"yes""#) }
        #expect(throws: Problem.self) { try decode(#","email_verified":1"#) }
    }

    @Test func timesMayHaveAFractionThatShortensTheTokensLife() throws {
        func decode(_ times: String) throws -> AppleIdentityClaims {
            let json = #"{"iss":"i","sub":"s","aud":"a",\#(times)}"#
            return try StrictJSON.decode(AppleIdentityClaims.self, from: Array(json.utf8))
        }
        let claims = try decode(#""iat":1750000000.9,"exp":1750000600.9,"nbf":1750000000.1"#)
        #expect(claims.issuedAt == 1_750_000_000 && claims.expiresAt == 1_750_000_600)
        #expect(claims.notBefore == 1_750_000_001)
        for value in [
            "-1", "-0.5", "1e300", "1e400", "253402300800", "9223372036854775808", "null", #""1750000000""#, "true",
            "[]",
        ] {
            for times in [#""iat":1,"exp":\#(value)"#, #""iat":\#(value),"exp":1"#] {
                #expect(throws: Problem.self, "\(times)") { try decode(times) }
            }
            if value != "null" { #expect(throws: Problem.self) { try decode(#""iat":1,"exp":2,"nbf":\#(value)"#) } }
        }
        #expect(throws: Problem.self) { try decode(#""exp":1"#) }
    }
}
