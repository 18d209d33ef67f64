import Foundation
import GatehouseAccessTokens
import GatehouseLimits
import GatehouseServiceContracts
import MetricsTestKit
import Postgres
import Redis
import TestKit
import Testing

@testable import TokensService

@Suite struct RefresherTests {
    @Test func aRefreshGivesASuccessorAndAnAccessToken() async throws {
        try await TokensFixture.with { tokens in
            let user = User.sample()
            let first = try await tokens.signIn(user)
            let issued = try await tokens.refresher().refresh(first)
            let answer = try JSON.decode(AuthResponse.self, from: Data(issued.json.utf8))
            #expect(answer.user == user)
            #expect(answer.tokenType == "Bearer")
            #expect(answer.refreshToken == issued.refreshToken)
            #expect((3420...3600).contains(answer.expiresIn))
            #expect(answer.expiresAt.timeIntervalSince1970 == Double(issued.expiresAt))
            #expect(answer.refreshExpiresIn == 2_592_000)

            let keys = try VerificationKeySet(keys: [TokensFixture.signingKey.publicKey])
            let verifier = try AccessTokenVerifier(
                issuer: "http://gatehouse.localhost", audience: "gatehouse", keys: keys)
            let claims = try verifier.verify(answer.accessToken, now: issued.issuedAt)
            #expect(claims.subject == user.id)
            #expect(claims.sessionID == first.sessionID)
            #expect(claims.role == "courier")
            #expect(claims.storeIDs == user.storeIds)
            #expect(claims.email == user.email)
            #expect(claims.expiresAt == issued.expiresAt)
            #expect(try await tokens.generation(of: first.sessionID) == 1)
        }
    }

    @Test("The predecessor is presented again: the answer has the same successor and a new access token")
    func repeatedRefresh() async throws {
        try await TokensFixture.with { tokens in
            let first = try await tokens.signIn()
            let refresher = try tokens.refresher()
            let answer = try await refresher.refresh(first)
            let again = try await refresher.refresh(first)
            #expect(again.refreshToken == answer.refreshToken)
            #expect(again.accessToken != answer.accessToken)
            #expect(try await tokens.generation(of: first.sessionID) == 1)
        }
    }

    @Test func lostResponsesAreForgivenUpToTheLimit() async throws {
        try await TokensFixture.with { tokens in
            var held = try await tokens.signIn()
            let refresher = try tokens.refresher()
            for _ in 0..<3 {
                _ = try await refresher.refresh(held)
                try await tokens.age(held.sessionID, by: 61)
                let late = try await refresher.refresh(held)
                #expect(try await refresher.refresh(held).refreshToken == late.refreshToken, "counts once")
                held = late.refresh
            }
            _ = try await refresher.refresh(held)
            try await tokens.age(held.sessionID, by: 61)
            #expect(try await refresher.refusal(of: held) == .invalidRefreshToken)
            #expect(try await tokens.count("sessions") == 0)
            #expect(try await tokens.count("security_events WHERE kind = 'theft.lateReplay'") == 1)
            #expect(try await tokens.count("\(revocations) WHERE reason = 'replay'") == 1)
        }
    }

    @Test func anOrdinaryRotationForgetsLateReplays() async throws {
        try await TokensFixture.with(rules: RotationRules(lateReplayLimit: 1)) { tokens in
            var held = try await tokens.signIn()
            let refresher = try tokens.refresher()
            for _ in 0..<4 {
                _ = try await refresher.refresh(held)
                try await tokens.age(held.sessionID, by: 61)
                held = try await refresher.refresh(held).refresh
                // Generation by late replay, then two whose answer arrived.
                held = try await refresher.refresh(held).refresh
                held = try await refresher.refresh(held).refresh
            }
        }
    }

    @Test func anOverloadedReplicaAnswersUnavailable() async throws {
        try await TokensFixture.with { tokens in
            let first = try await tokens.signIn()
            let full = try tokens.refresher(load: ConcurrencyLimit(limit: 0))
            #expect(try await full.refusal(of: first) == .unavailable)
            #expect(try await tokens.generation(of: first.sessionID) == 0)
        }
    }

    /// Whatever becomes of a refresh, it makes room for the next.
    @Test func anEndedRefreshReleasesItsPermit() async throws {
        try await TokensFixture.with { tokens in
            let token = try await tokens.signIn()
            let unknown = RefreshToken(sessionID: UUID(), generation: 0, keys: tokens.keys)
            let refused = try tokens.refresher(load: ConcurrencyLimit(limit: 1))
            #expect(try await refused.refusal(of: unknown) == .invalidRefreshToken)
            let failed = try tokens.refresher(load: ConcurrencyLimit(limit: 1))
            await #expect(throws: PostgresError.self) {
                try await Deadline.with(.after(.seconds(-1))) { try await failed.refresh(token) }
            }
            let served = try tokens.refresher(load: ConcurrencyLimit(limit: 1))
            #expect(try await served.refusal(of: token) == nil)
            for refresher in [refused, failed, served] { #expect(try await refresher.refusal(of: token) == nil) }
        }
    }

    @Test func strictModeForgivesNoLateReplay() async throws {
        try await TokensFixture.with(rules: RotationRules(mode: .strict)) { tokens in
            let first = try await tokens.signIn()
            let refresher = try tokens.refresher()
            _ = try await refresher.refresh(first)
            try await tokens.age(first.sessionID, by: 61)
            #expect(try await refresher.refusal(of: first) == .invalidRefreshToken)
            #expect(try await tokens.count("sessions") == 0)
        }
    }

    @Test func anOlderTokenEndsTheSessionAfterTheRaceWindow() async throws {
        try await TokensFixture.with(rules: RotationRules(raceWindow: 3600)) { tokens in
            let first = try await tokens.signIn()
            let refresher = try tokens.refresher()
            let second = try await refresher.refresh(first).refresh
            let third = try await refresher.refresh(second).refresh
            #expect(try await refresher.refusal(of: first) == .unavailable)
            #expect(try await tokens.generation(of: first.sessionID) == 2)
            try await tokens.age(first.sessionID, by: 3601)
            #expect(try await refresher.refusal(of: first) == .invalidRefreshToken)
            #expect(try await refresher.refusal(of: third) == .invalidRefreshToken)
            #expect(try await tokens.count("security_events WHERE kind = 'theft.olderToken'") == 1)
        }
    }

    @Test func aRestoredDatabaseAccusesNobody() async throws {
        try await TokensFixture.with { tokens in
            let first = try await tokens.signIn()
            let refresher = try tokens.refresher()
            let newer = RefreshToken(sessionID: first.sessionID, generation: 5, keys: tokens.keys)
            let other = RefreshToken(sessionID: first.sessionID, generation: 0, keys: tokens.keys)
            for token in [newer, other] { #expect(try await refresher.refusal(of: token) == .invalidRefreshToken) }
            #expect(try await refresher.refusal(of: first) == nil)
        }
    }

    @Test func expiredAndRevokedSessionsAreRefused() async throws {
        try await TokensFixture.with { tokens in
            let refresher = try tokens.refresher()
            let idle = try await tokens.signIn()
            try await tokens.age(idle.sessionID, by: 2_592_001)
            #expect(try await refresher.refusal(of: idle) == .invalidRefreshToken)
            let revoked = try await tokens.signIn()
            try await tokens.store.revoke(revoked.sessionID, reason: .logout)
            #expect(try await refresher.refusal(of: revoked) == .invalidRefreshToken)
            for text in ["", "ghrt_", "junk"] {
                await #expect(throws: Problem(.invalidRefreshToken)) { try await refresher.refresh(text, from: .test) }
            }
        }
    }

    /// Of a session that lives, so that nothing but the token itself can be the reason.
    @Test("A forged token of a live session: it is refused, and the session stays as it was")
    func forgeries() async throws {
        try await TokensFixture.with { tokens in
            let refresher = try tokens.refresher()
            let token = try await tokens.signIn()
            for index in token.bytes.indices {
                var bytes = token.bytes
                bytes[index] ^= 1
                let forgery = try #require(RefreshToken(bytes: bytes))
                #expect(try await refresher.refusal(of: forgery) == .invalidRefreshToken, "byte \(index)")
            }
            // Under a key that the service does not know, the attacker chooses every field.
            var last = [UInt8](repeating: 0xC8, count: 69)
            last.replaceSubrange(17..<21, with: [0x7F, 0xFF, 0xFF, 0xFE])
            let forgery = try #require(RefreshToken(bytes: last))
            #expect(try await refresher.refusal(of: forgery) == .invalidRefreshToken)
            #expect(try await tokens.generation(of: token.sessionID) == 0)
            #expect(try await refresher.refusal(of: token) == nil)
        }
    }

    @Test func anAccessTokenNeverOutlivesTheSession() async throws {
        try await TokensFixture.with { tokens in
            let first = try await tokens.signIn()
            try await tokens.age(first.sessionID, by: 31_536_000 - 100)
            try await tokens.database.pool.query("UPDATE sessions SET expires_at = absolute_expires_at")
            let issued = try await tokens.refresher().refresh(first)
            #expect(issued.expiresAt == issued.refreshExpiresAt)
            #expect((95...100).contains(issued.expiresIn))
        }
    }

    /// A new key is known everywhere before it mints; a replica that has it not goes by the hash.
    @Test func replacingTheKeySignsNobodyOut() async throws {
        try await TokensFixture.with(keys: .sample(ids: [1])) { tokens in
            let (old, both, new) = (
                try tokens.refresher(), try tokens.refresher(keys: .sample(ids: [2, 1])),
                try tokens.refresher(keys: .sample(ids: [2]))
            )
            let first = try await tokens.signIn()
            let second = try await both.refresh(first)
            #expect(second.refresh.keyID == 2)
            #expect(try await both.refresh(first).refreshToken == second.refreshToken)
            // Sealed under a key that the old replica has not: not now, rather than never.
            #expect(try await old.refusal(of: first) == .unavailable)
            let third = try await old.refresh(second.refresh)
            #expect(third.refresh.keyID == 1)
            let fourth = try await new.refresh(third.refresh)
            #expect(fourth.refresh.keyID == 2)
            #expect(try await tokens.generation(of: first.sessionID) == 3)
        }
    }

    @Test("Many refreshes of a session: they are limited, and forged tokens do not count")
    func limitOfASession() async throws {
        try await TokensFixture.with { tokens in
            let limit = TokenBuckets<String>(bucket: TokenBucket(capacity: 2, refillPerSecond: 0.001))
            let metrics = TestMetrics()
            let refresher = try tokens.refresher(limit: limit, metrics: metrics)
            let (first, other) = (try await tokens.signIn(), try await tokens.signIn(.sample(id: UUID())))
            let strange = RefreshToken(
                sessionID: first.sessionID, generation: 0, keys: .sample(ids: [200]))
            for _ in 0..<5 { #expect(try await refresher.refusal(of: strange) != .rateLimited) }
            let second = try await refresher.refresh(first).refresh
            _ = try await refresher.refresh(second)
            do {
                _ = try await refresher.refresh(second)
                Issue.record("a third refresh is served")
            } catch let problem as Problem {
                #expect(problem.code == .rateLimited && (problem.retryAfter ?? 0) > 0)
            }
            let limited = try metrics.expectCounter("tokens_refresh_total", [("outcome", "limited")])
            #expect(limited.totalValue == 1)
            _ = try await refresher.refresh(other)
        }
    }

    /// Only PostgreSQL can tell a made-up token under an unknown key from a genuine one: it is asked a few times.
    @Test func lookupsOfUnknownKeysAreLimited() async throws {
        try await TokensFixture.with { tokens in
            let metrics = TestMetrics()
            let refresher = try tokens.refresher(unknownKeyLimit: UnknownKeyLimit(), metrics: metrics)
            var (lookedUp, limited) = (0, 0)
            for _ in 0..<60 {
                let strange = RefreshToken(sessionID: UUID(), generation: 0, keys: .sample(ids: [200]))
                switch try await refresher.refusal(of: strange) {
                case .invalidRefreshToken: lookedUp += 1
                case .rateLimited: limited += 1
                case let other: Issue.record("\(String(describing: other))")
                }
            }
            // `UnknownKeyLimitTests` has how many.
            #expect(lookedUp >= 10 && limited > 0)
            func count(_ outcome: String) throws -> Int {
                Int(try metrics.expectCounter("tokens_refresh_total", [("outcome", outcome)]).totalValue)
            }
            #expect(try count("strangersLimited") == limited)
            #expect(try count("refused.unknownSession") == lookedUp)
        }
    }

    /// A roll-out that began elsewhere: every token is under a key that is not known here.
    @Test("Genuine tokens under unknown keys: they are served without a limit")
    func genuineTokensUnderUnknownKeys() async throws {
        try await TokensFixture.with { tokens in
            let unknownKeyLimit = UnknownKeyLimit()
            let refresher = try tokens.refresher(keys: .sample(ids: [2]), unknownKeyLimit: unknownKeyLimit)
            let all = try await withThrowingTaskGroup(of: RefreshToken.self) { group in
                for _ in 0..<60 { group.addTask { try await tokens.signIn(.sample(id: UUID())) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for token in all { #expect(try await refresher.refusal(of: token) == nil) }
            // One of another address is served while this one's makes tokens up.
            let other = try await tokens.signIn()
            for _ in 0..<20 { try? unknownKeyLimit.take(from: Refresher.Client.test.ipAddress) }
            var client = Refresher.Client.test
            client.ipAddress = "2001:db8::1"
            #expect(try await refresher.refresh(other.text, from: client).refresh.generation == 1)
        }
    }

    @Test func everyOutcomeIsCounted() throws {
        let metrics = TestMetrics()
        let counts = RefreshMetrics(factory: metrics)
        for outcome in RefreshMetrics.Outcome.allCases { counts.count(outcome) }
        for outcome in RefreshMetrics.Outcome.allCases {
            let counter = try metrics.expectCounter("tokens_refresh_total", [("outcome", outcome.rawValue)])
            #expect(counter.totalValue == 1)
        }
    }
}
