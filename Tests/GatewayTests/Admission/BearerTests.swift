import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseTokenValidation
import TestKit
import Testing

@testable import GatewayService

@Suite("Bearers")
struct BearerTests {
    @Test("The scheme is read in any case", arguments: ["Bearer", "bearer", "BEARER", "bEaReR"])
    func scheme(_ scheme: String) async throws {
        try await GatewayHarness.withGateway { gateway in
            let token = try GatewayHarness.token()
            #expect(try await gateway.send("GET /team", fields: "authorization: \(scheme) \(token)\r\n").status == 200)
        }
    }

    @Test("What is missing or wrong is 401, with the reason")
    func refused() async throws {
        try await GatewayHarness.withGateway { gateway in
            let missing = try await gateway.send("GET /team")
            #expect(missing.status == 401 && missing.code == "INVALID_TOKEN")
            #expect(missing["www-authenticate"]?.hasPrefix("Bearer") == true)

            let good = try GatewayHarness.token()
            let fields = [
                "Authorization: Basic YTpi\r\n", "Authorization: Bearer\r\n", "Authorization: \(good)\r\n",
                "Authorization: Bearer \(good) x\r\n", "Authorization: Bearer \(good).\r\n",
                "Authorization: x Bearer \(good)\r\n",
                "Authorization: Bearer \(good)\r\nAuthorization: Bearer \(good)\r\n",
                "Authorization: Bearer \(good.dropLast(4))\r\n", "Authorization: Bearer \(good)=\r\n",
                "Authorization: Bearer\t\(good)\r\n",
                "Authorization: Bearer \(try GatewayHarness.token(GatewayHarness.claims(audience: "other")))\r\n",
            ]
            for field in fields {
                let answer = try await gateway.send("GET /team", fields: field)
                #expect(answer.status == 401 && answer.code == "INVALID_TOKEN", "\(field)")
                #expect(answer["www-authenticate"]?.contains("error=\"invalid_token\"") == true)
            }
            let expired = try await gateway.send(
                "GET /team", token: try GatewayHarness.token(GatewayHarness.claims(expiresIn: -1)))
            #expect(expired.status == 401 && expired.code == "TOKEN_EXPIRED")
            #expect(gateway.team.begun == 0)
        }
    }

    @Test("Routes without bearer ignore it, optional ones refuse a bad one, logout is told of it")
    func modes() async throws {
        try await GatewayHarness.withGateway { gateway in
            #expect(try await gateway.send("POST /v1/auth/refresh", body: "{}", token: "junk").status == 200)
            #expect(try await gateway.send("GET /optional").status == 200)
            #expect(try await gateway.send("GET /optional", token: "junk").status == 401)
            #expect(try await gateway.send("POST /v1/auth/logout", body: "{}", token: "junk").status == 200)
            #expect(try await gateway.send("POST /v1/auth/logout", body: "{}").status == 200)
            let expired = try GatewayHarness.token(GatewayHarness.claims(expiresIn: -1))
            #expect(try await gateway.send("POST /v1/auth/logout", token: expired).status == 200)
            let errors = gateway.own.requests.dropFirst().map { $0.field(HeaderName.bearerError) }
            #expect(errors == ["INVALID_TOKEN", nil, "TOKEN_EXPIRED"])
            #expect(gateway.own.requests.allSatisfy { $0.field("Gatehouse-User-Id") == nil })
        }
    }

    @Test("Logout does not wait for keys: what the bearer is worth is for the service to decide")
    func logoutWithoutKeys() async throws {
        try await GatewayHarness.withGateway { gateway in
            let unknown = try GatewayHarness.token(key: RSAPrivateKey.generate())
            // A key fetcher would fetch for the first one; this test runs none.
            for _ in 0..<2 {
                #expect(try await gateway.send("POST /v1/auth/logout", body: "{}", token: unknown).status == 200)
            }
            let errors = gateway.own.requests.map { $0.field(HeaderName.bearerError) }
            #expect(errors == ["UNAVAILABLE", "UNAVAILABLE"])
        }
        try await GatewayHarness.withGateway(.init { $0.hasKeys = false }) { gateway in
            let token = try GatewayHarness.token()
            #expect(try await gateway.send("POST /v1/auth/logout", body: "{}", token: token).status == 200)
            #expect(gateway.own.requests.first?.field(HeaderName.bearerError) == "UNAVAILABLE")
        }
    }

    @Test("A revoked session's token is refused at once, the others are not")
    func revoked() async throws {
        try await GatewayHarness.withGateway { gateway in
            let session = UUID()
            let token = try GatewayHarness.token(GatewayHarness.claims(session: session))
            #expect(try await gateway.send("GET /team", token: token).status == 200)
            let now = Int64(Date.now.timeIntervalSince1970)
            gateway.gateway.revoked.apply([(session, now + 600)], isEnd: true, now: now)
            let refused = try await gateway.send("GET /team", token: token)
            #expect(refused.status == 401 && refused.code == "INVALID_TOKEN")
            #expect(try await gateway.send("GET /team", token: try GatewayHarness.token()).status == 200)
        }
    }

    @Test("Without keys or feed the gateway cannot tell: 503, never 401")
    func unavailable() async throws {
        try await GatewayHarness.withGateway(.init { $0.hasKeys = false }) { gateway in
            let answer = try await gateway.send("GET /team", token: try GatewayHarness.token())
            #expect(answer.status == 503 && answer.code == "UNAVAILABLE" && answer["retry-after"] != nil)
            #expect(try await gateway.send("GET /open").status == 200)
        }
        try await GatewayHarness.withGateway(.init { $0.hasFeed = false }) { gateway in
            let token = try GatewayHarness.token()
            #expect(try await gateway.send("GET /team", token: token).status == 503)
            #expect(try await gateway.send("GET /team").status == 401)
        }
    }

    @Test("An unknown key is fetched while its request waits; other keys end what was cached")
    func rotation() async throws {
        try await GatewayHarness.withGateway { gateway in
            let next = try RSAPrivateKey.generate()
            let old = try GatewayHarness.token()
            #expect(try await gateway.send("GET /team", token: old).status == 200)
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /team", token: try GatewayHarness.token(key: next)))
            for await _ in gateway.gateway.keys.demanded(of: 0) { break }
            #expect(gateway.team.begun == 1)
            try gateway.gateway.keys.replace(VerificationKeySet(keys: [next.publicKey]))
            #expect(try await client.answer().status == 200)
            #expect(try await gateway.send("GET /team", token: old).status == 401)
        }
    }

    @Test("Keys of a file: an unknown one is refused at once, and the file is followed")
    func keysFile() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).pem").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        @Sendable func write(_ keys: RSAPrivateKey...) throws {
            try keys.map { try $0.publicKey.pem }.joined().write(toFile: path, atomically: true, encoding: .utf8)
        }
        let next = try RSAPrivateKey.generate()
        try write(GatewayHarness.key)
        try await GatewayHarness.withGateway(.init { $0.hasKeys = false }) { gateway in
            let file = PublicKeyFile(path: path, allowsDevelopment: false)
            let fetcher = KeyFetcher(
                store: gateway.gateway.keys, maximumStaleness: 100, logger: .quiet, interval: .milliseconds(20),
                fetch: file.read)
            let following = Task { try await fetcher.run() }
            defer { following.cancel() }
            let good = try GatewayHarness.token()
            try await eventually("the file is read") { try await gateway.send("GET /team", token: good).status == 200 }
            let unknown = try GatewayHarness.token(key: next)
            let keys = gateway.gateway.keys
            for _ in 0..<3 {
                let answer = try await gateway.send("GET /team", token: unknown)
                #expect(answer.status == 401 && answer.code == "INVALID_TOKEN")
            }
            try write(GatewayHarness.key, next)
            try await eventually("the changed file is read") {
                try await gateway.send("GET /team", token: unknown).status == 200
            }
            // What cannot be used changes nothing.
            for text in ["", try "# development\n" + next.publicKey.pem] {
                try text.write(toFile: path, atomically: true, encoding: .utf8)
                try await eventually("the useless file is seen") { keys.snapshot.sources[0].didLastFetchFail }
                #expect(try await gateway.send("GET /team", token: good).status == 200)
                try write(GatewayHarness.key, next)
                try await eventually("the good file is seen") { !keys.snapshot.sources[0].didLastFetchFail }
            }
        }
    }

    @Test("An unknown key while the fetch failed is 503")
    func failedFetch() async throws {
        try await GatewayHarness.withGateway { gateway in
            let token = try GatewayHarness.token(key: RSAPrivateKey.generate())
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /team", token: token))
            for await _ in gateway.gateway.keys.demanded(of: 0) { break }
            gateway.gateway.keys.fetchFailed()
            #expect(try await client.answer().status == 503)
            #expect(try await gateway.send("GET /team", token: token).status == 503)
            #expect(try await gateway.send("GET /team", token: try GatewayHarness.token()).status == 200)
        }
    }

    @Test("Another issuer's tokens are taken where the route says so, and nowhere else")
    func furtherIssuers() async throws {
        let (partner, options) = (TrustedIssuer.partner, GatewayHarness.Options.trustingPartner)
        let partnerKey = try RSAPrivateKey.generate()
        try await GatewayHarness.withGateway(options) { gateway in
            var claims = GatewayHarness.claims(audience: partner.audience)
            claims.issuer = partner.issuer
            let foreign = try GatewayHarness.token(claims, key: partnerKey)
            let own = try GatewayHarness.token()
            let keys = gateway.gateway.keys
            // Gatehouse's keys can be fetched, the other's cannot.
            let fetching = Task {
                for await _ in keys.demanded(of: 0) {
                    try keys.replace(VerificationKeySet(keys: [GatewayHarness.key.publicKey]))
                }
            }
            let failing = Task { for await _ in keys.demanded(of: 1) { keys.fetchFailed(of: 1) } }
            defer {
                fetching.cancel()
                failing.cancel()
            }
            // The other's keys are not there yet: the gateway cannot tell.
            #expect(try await gateway.send("GET /partner", token: foreign).status == 503)
            try await fetchesEnd(keys)
            #expect(try await gateway.send("GET /partner", token: own).status == 200)
            #expect(try await gateway.send("GET /team", token: foreign).status == 401)
            try keys.replace(VerificationKeySet(keys: [partnerKey.publicKey]), of: 1)
            #expect(keys.isUsable(now: Int64(Date.now.timeIntervalSince1970)))

            for _ in 0..<2 {
                #expect(try await gateway.send("GET /partner", token: foreign).status == 200)
                for path in ["/team", "/v1/auth/me", "/v1/auth/sessions"] {
                    let answer = try await gateway.send("GET \(path)", token: foreign)
                    #expect(answer.status == 401 && answer.code == "INVALID_TOKEN", "\(path)")
                }
            }
            // No session of that issuer's is one of Gatehouse's.
            gateway.gateway.revoked.apply(
                [(session: claims.sessionID, expiresAt: claims.expiresAt)], isEnd: true,
                now: Int64(Date.now.timeIntervalSince1970))
            #expect(try await gateway.send("GET /partner", token: foreign).status == 200)
            #expect(gateway.own.begun == 0)
            #expect(
                gateway.team.requests.map { $0.field("Gatehouse-Claim-Iss") } == [
                    nil, "https://partner.test", "https://partner.test", "https://partner.test",
                ])

            // Each issuer's keys speak for that issuer alone.
            let borrowed = try GatewayHarness.token(GatewayHarness.claims(), key: partnerKey)
            let lent = try GatewayHarness.token(claims)
            for path in ["/partner", "/team"] {
                for token in [borrowed, lent] {
                    #expect(try await gateway.send("GET \(path)", token: token).status == 401)
                }
            }
            // Keys of the other that are too old are trusted no more, also for tokens that are known already.
            try keys.replace(VerificationKeySet(keys: [partnerKey.publicKey]), of: 1, trustedUntil: 1)
            #expect(try await gateway.send("GET /partner", token: foreign).status == 503)
            #expect(try await gateway.send("GET /team", token: own).status == 200)
        }
    }

    /// No request waits for keys any more, nor for a while has any fetched.
    private func fetchesEnd(_ keys: IssuerKeys<TrustedIssuer>) async throws {
        try await eventually("the fetches are through") {
            let now = Int64(Date.now.timeIntervalSince1970)
            return keys.demandFetch(of: [0, 1], after: keys.version, now: now) == .isTooEarly
        }
    }

    @Test("Gatehouse's next key is fetched whatever has become of another issuer")
    func furtherIssuerDown() async throws {
        for path in ["/team", "/partner"] {
            try await GatewayHarness.withGateway(GatewayHarness.Options.trustingPartner) { gateway in
                let (keys, next) = (gateway.gateway.keys, try RSAPrivateKey.generate())
                keys.fetchFailed(of: 1)
                let fetching = Task {
                    for await _ in keys.demanded(of: 0) {
                        try keys.replace(VerificationKeySet(keys: [GatewayHarness.key.publicKey, next.publicKey]))
                    }
                }
                let failing = Task { for await _ in keys.demanded(of: 1) { keys.fetchFailed(of: 1) } }
                defer {
                    fetching.cancel()
                    failing.cancel()
                }
                let token = try GatewayHarness.token(key: next)
                // A busy machine may take longer than the gateway lets a request wait.
                try await eventually("the next key is fetched") {
                    try await gateway.send("GET \(path)", token: token).status == 200
                }
                try await fetchesEnd(keys)
                let junk = try await gateway.send(
                    "GET \(path)", token: try GatewayHarness.token(key: RSAPrivateKey.generate()))
                // On the one route it may be of an issuer of which the gateway knows nothing.
                #expect(junk.status == (path == "/team" ? 401 : 503))
            }
        }
    }

    @Test("A token whose key arrives while it is verified is not refused")
    func arrivingKey() async throws {
        let next = try RSAPrivateKey.generate()
        let both = try VerificationKeySet(keys: [GatewayHarness.key.publicKey, next.publicKey])
        let token = try GatewayHarness.token(key: next)
        let now = Int64(Date.now.timeIntervalSince1970)
        for _ in 0..<2000 {
            let keys = IssuerKeys(issuer: "http://gatehouse.test", audience: "gatehouse")
            try keys.replace(VerificationKeySet(keys: [GatewayHarness.key.publicKey]))
            // Another token has demanded the key.
            #expect(keys.demandFetch(after: keys.version, now: now) == .isFetching)
            let verifying = Task.detached {
                let revoked = RevokedSessions(maximumStaleness: 3600)
                revoked.apply([], isEnd: true, now: now)
                let bearers = CachingBearerVerifier(keys: keys, revoked: revoked, cacheCapacity: 1)
                let verification = Array(token.utf8).withUnsafeBytes { bearers.verify($0, now: now) }
                if case .refused = verification { return false }
                return true
            }
            try keys.replace(both)
            try #require(await verifying.value)
        }
    }
}
