import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import GatehouseServiceKit
import NIOHTTP1
import Postgres
import TestKit
import Testing

@testable import AppleSimulator
@testable import IdentityCredentials

extension AppleServiceTests {
    /// Which of Apple's tokens are accepted, and with which of its keys.
    @Suite struct AppleTokenTests {
        @Test func aFailureOfOpenSSLIsNotTheUsersFault() {
            let unavailable = #expect(throws: Problem.self) {
                try AppleTokenVerifier.throwIfCryptographyFailed(AccessTokenError(.cryptography, "OpenSSL failed."))
            }
            #expect(unavailable?.code == .unavailable)
            for code in [AccessTokenError.Code.badSignature, .malformed] {
                #expect(throws: Never.self) {
                    try AppleTokenVerifier.throwIfCryptographyFailed(AccessTokenError(code, "A token."))
                }
            }
        }

        @Test func badTokensAreRefused() async throws {
            try await withIdentity { identity in
                let apple = identity.apple
                let header = { (text: String) in Data(text.utf8) }
                let now = Int(Date.now.timeIntervalSince1970)
                let times = #""iat":\#(now),"exp":\#(now + 600)"#
                let claims = header(
                    #"{"iss":"https://appleid.apple.com","aud":"com.example.app","sub":"001",\#(times)}"#)
                let good = header(#"{"alg":"RS256","kid":"first"}"#)
                #expect(try await identity.apple(apple.sign(header: good, payload: claims)).status == 200)
                // Members of Apple's own are ignored, and a time may have a fraction (RFC 7515 §4, RFC 7519 §2).
                let own = header(#"{"alg":"RS256","kid":"first","typ":"JWT","cty":"x","build":{"crit":1}}"#)
                let fraction = header(
                    #"{"iss":"https://appleid.apple.com","aud":"com.example.app","sub":"001","iat":\#(now).5,"#
                        + #""nbf":\#(now).25,"exp":\#(now + 600).999}"#)
                for (header, payload) in [(own, claims), (good, fraction)] {
                    #expect(try await identity.apple(apple.sign(header: header, payload: payload)).status == 200)
                }
                let whole = try apple.token(sub: "001")
                let parts = whole.split(separator: ".").map(String.init)
                var tokens = [
                    "", ".", "..", "a.b.c", parts[0] + "." + parts[1], whole + ".", whole + ".AAAA", whole + "=",
                    parts[0] + "." + parts[1] + ".", String(whole.dropLast(8)), String(repeating: ".", count: 9000),
                    String(repeating: "A", count: 10_000),
                    try apple.token(sub: "001") { $0["aud"] = "com.example.other" },
                    try apple.token(sub: "001") { $0["aud"] = ["com.example.app"] },
                    try apple.token(sub: "001") { $0["iss"] = "https://accounts.google.com" },
                    try apple.token(sub: "001") { $0["exp"] = now - 3600 },
                    try apple.token(sub: "001") { $0["exp"] = "\(now + 600)" },
                    try apple.token(sub: "001") { $0["exp"] = nil },
                    try apple.token(sub: "001") { $0["exp"] = 1e300 },
                    try apple.token(sub: "001") { $0["exp"] = 253_402_300_800 },
                    try apple.token(sub: "001") { $0["exp"] = Int64.max },
                    try apple.token(sub: "001") { $0["nbf"] = now + 3700 },
                    try apple.token(sub: "001") { $0["nbf"] = "\(now)" },
                    try apple.token(sub: "001") { $0["iat"] = nil },
                    try apple.token(sub: "001") { $0["iat"] = -0.5 },
                    try apple.token(sub: "001") { $0["iat"] = now - 3700 },
                    try apple.token(sub: "001") { $0["iat"] = now + 3700 },
                    try apple.token(sub: "") { _ in },
                    try apple.token(sub: "001") { $0["sub"] = 7 },
                    try apple.sign(header: header(#"{"alg":"none","kid":"first"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"HS256","kid":"first"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"rs256","kid":"first"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":7}"#), payload: claims),
                    try apple.sign(
                        header: header(#"{"alg":"RS256","kid":"\#(String(repeating: "k", count: 200))"}"#),
                        payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","crit":["exp"]}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","crit":null}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","b64":false}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","zip":"DEF"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","enc":"A256GCM"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","jwk":{}}"#), payload: claims),
                    try apple.sign(
                        header: header(#"{"alg":"RS256","kid":"first","jku":"https://x"}"#), payload: claims),
                    try apple.sign(
                        header: header(#"{"alg":"RS256","kid":"first","x5u":"https://x"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","x5c":["AA"]}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"RS256","kid":"first","typ":"at+jwt"}"#), payload: claims),
                    try apple.sign(header: header(#"{"alg":"none","alg":"RS256","kid":"first"}"#), payload: claims),
                    try apple.sign(header: good, payload: header(#"{"sub":"002","sub":"001"}"#)),
                    try apple.sign(header: good, payload: header("{}")),
                    try apple.sign(header: good, payload: header("[]")),
                ]
                // Signed by a key that Apple does not publish, under the name of one that it does.
                tokens.append(try apple.sign(header: good, payload: claims, kid: "second"))
                for token in tokens {
                    let answer = try await identity.apple(token)
                    #expect(answer.status == 401, "\(token.prefix(80))")
                    #expect(answer.code == "INVALID_APPLE_TOKEN")
                }
                #expect(try await identity.database.query("SELECT id FROM users").count == 1)
            }
        }

        @Test func bothOfApplesNamesCount() async throws {
            try await withIdentity { identity in
                let token = try identity.apple.token(sub: "001") { $0["iss"] = "https://account.apple.com" }
                #expect(try await identity.apple(token).status == 200)
            }
        }

        @Test(arguments: [FaultMode.down, .garbage])
        func appleBeingAwayIsNotTheUsersFault(mode: FaultMode) async throws {
            try await withIdentity { identity in
                identity.apple.mode = mode
                let answer = try await identity.apple(identity.apple.token(sub: "1"))
                #expect(answer.status == 503)
                #expect(answer.code == "UNAVAILABLE")
                #expect(answer.header("Retry-After") != nil)
                identity.apple.mode = .none
                try await eventually("Apple is asked again") {
                    try await identity.apple(identity.apple.token(sub: "1")).status == 200
                }
                identity.apple.mode = mode
                // Known keys go on working.
                #expect(try await identity.apple(identity.apple.token(sub: "1")).status == 200)
                #expect(try await identity.apple(identity.apple.token(sub: "1", kid: "second")).code == "UNAVAILABLE")
            }
        }

        @Test func newKeysAreFetchedOnceForManyAndForgedNamesNotAtAll() async throws {
            // However long the test takes, it is over before another unknown name would be worth a fetch.
            try await withIdentity(["IDENTITY_APPLE_KEYS_COOLDOWN": "3600"]) { identity in
                #expect(try await identity.apple(identity.apple.token(sub: "1")).status == 200)
                #expect(identity.apple.requests(to: "/auth/keys").count == 1)
                // Twice, because Apple publishes the key before the current one, too.
                for key in ["third", "second"] { try await identity.apple.rotateKeys(to: key) }
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<10 {
                        group.addTask { try await identity.apple(identity.apple.token(sub: "1", kid: "second")).status }
                    }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(statuses == Array(repeating: 200, count: 10))
                #expect(identity.apple.requests(to: "/auth/keys").count == 2)
                for index in 0..<20 {
                    let forged = try identity.apple.token(sub: "1", kid: "second", header: ["kid": "forged-\(index)"])
                    #expect(try await identity.apple(forged).code == "INVALID_APPLE_TOKEN")
                }
                #expect(identity.apple.requests(to: "/auth/keys").count == 2)
                // The key that was taken away no longer counts.
                #expect(try await identity.apple(identity.apple.token(sub: "1")).code == "INVALID_APPLE_TOKEN")
            }
        }
    }
}
