import Crypto
import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import DevicesService

/// What answers mean for a pool, when it stops and tries again, and which configuration is accepted.
@Suite struct APNsRulesTests {
    private static let start = ContinuousClock.now

    private static func answer(_ status: Int, _ reason: String? = nil) -> APNsAnswer {
        APNsAnswer(status: status, reason: reason)
    }

    // MARK: - Answers

    @Test(
        "Answers that concern the push alone are delivered",
        arguments: [
            answer(200), answer(410, "Unregistered"), answer(410, "ExpiredToken"), answer(400, "BadDeviceToken"),
            answer(400, "DeviceTokenNotForTopic"), answer(400, "PayloadEmpty"), answer(403, "Forbidden"),
            answer(413, "PayloadTooLarge"), answer(429, "TooManyRequests"), answer(500, "InternalServerError"),
            answer(503, "ServiceUnavailable"), answer(500), answer(400, "NewReason"),
        ])
    func deliveredAnswers(answer: APNsAnswer) {
        #expect(APNsAnswerRules.action(for: answer, repeats: Repeats()) == .deliver)
    }

    @Test("Answers that concern the key stop the pool", arguments: APNsAnswerRules.stopping)
    func stoppingAnswers(reason: String) {
        #expect(APNsAnswerRules.action(for: Self.answer(403, reason), repeats: Repeats()) == .stop(reason))
    }

    @Test("Answers that concern the connection are repeated once")
    func repeatedAnswers() {
        func action(_ reason: String, _ change: (inout Repeats) -> Void = { _ in }) -> APNsAnswerRules.Action {
            var repeats = Repeats()
            change(&repeats)
            return APNsAnswerRules.action(for: Self.answer(403, reason), repeats: repeats)
        }
        #expect(action("ExpiredProviderToken") == .renewToken)
        #expect(action("ExpiredProviderToken") { $0.hasRenewedToken = true } == .stop("ExpiredProviderToken"))
        for reason in ["IdleTimeout", "UnrelatedKeyIdInToken"] {
            #expect(action(reason) == .replaceConnection)
            #expect(action(reason) { $0.hasReplacedConnection = true } == .deliver)
        }
        #expect(action("TooManyProviderTokenUpdates") == .keepToken)
        #expect(action("TooManyProviderTokenUpdates") { $0.hasKeptToken = true } == .deliver)
        #expect(action("Shutdown") { $0.moves = 2 } == .replaceConnection)
        #expect(action("Shutdown") { $0.moves = 3 } == .deliver)
    }

    @Test("Only answers about the device verify the provider token")
    func verifyingAnswers() {
        let verifying = [
            Self.answer(200), Self.answer(410, "Unregistered"), Self.answer(400, "DeviceTokenNotForTopic"),
            Self.answer(429, "TooManyRequests"),
        ]
        #expect(verifying.allSatisfy(APNsAnswerRules.verifiesToken))
        let others = [
            Self.answer(400, "BadDeviceToken"), Self.answer(403, "InvalidProviderToken"), Self.answer(413),
            Self.answer(429, "TooManyProviderTokenUpdates"), Self.answer(503, "Shutdown"),
        ]
        #expect(!others.contains(where: APNsAnswerRules.verifiesToken))
    }

    // MARK: - Stopping

    @Test("A stopped pool tries one push after its pause, and goes on if that is accepted")
    func stopsAndProbes() {
        var pool = ConnectionPoolAdmission(limits: APNsLimits())
        let start = Self.start
        #expect(pool.admit(isToProvenDevice: true, now: start) == .send)
        pool.stop(reason: "InvalidProviderToken", now: start)
        #expect(pool.reason == "InvalidProviderToken")
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(299)) == .refuse)
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(300)) == .probe)
        #expect(pool.reason == "InvalidProviderToken")
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(301)) == .refuse)
        pool.probeEnded(.accepted, now: start + .seconds(302))
        #expect(pool.reason == nil)
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(302)) == .send)
        pool.probeEnded(.refused, now: start + .seconds(303))
        #expect(pool.reason == nil)
    }

    @Test("A refused probe starts the pause anew, one of unknown result is repeated soon")
    func refusedProbes() {
        let start = Self.start
        var pool = ConnectionPoolAdmission(limits: APNsLimits())
        pool.stop(reason: "TopicDisallowed", now: start)
        _ = pool.admit(isToProvenDevice: true, now: start + .seconds(300))
        pool.probeEnded(.refused, now: start + .seconds(300))
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(599)) == .refuse)
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(600)) == .probe)
        pool.probeEnded(.unknown, now: start + .seconds(600))
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(609)) == .refuse)
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(610)) == .probe)
        pool.stop(reason: "InvalidProviderToken", now: start + .seconds(611))
        pool.probeEnded(.accepted, now: start + .seconds(612))
        #expect(pool.reason == "InvalidProviderToken")
    }

    @Test("Refused device tokens stop a pool for an hour, until one is accepted")
    func refusalsStop() {
        let start = Self.start
        let reason = APNsAnswerRules.tokenRefusals
        var pool = ConnectionPoolAdmission(limits: APNsLimits())
        pool.stop(reason: reason, now: start)
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(3599)) == .refuse)
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(3600)) == .probe)
        func result(_ answer: APNsAnswer, _ reason: String, isProven: Bool = true)
            -> ConnectionPoolAdmission.ProbeResult
        {
            ConnectionPoolAdmission.result(of: answer, isToProvenDevice: isProven, stoppedFor: reason)
        }
        #expect(result(Self.answer(200), reason) == .accepted)
        for refusal in ["BadDeviceToken", "DeviceTokenNotForTopic"] {
            #expect(result(Self.answer(400, refusal), reason) == .refused)
            #expect(result(Self.answer(400, refusal), reason, isProven: false) == .unknown)
        }
        #expect(result(Self.answer(410, "Unregistered"), reason) == .unknown)
        #expect(result(Self.answer(410), "InvalidProviderToken") == .accepted)
        #expect(result(Self.answer(500), "InvalidProviderToken") == .unknown)
    }

    @Test("A pool that refused tokens have stopped tries a token first that Apple had accepted")
    func inventedTokens() {
        let start = Self.start
        var pool = ConnectionPoolAdmission(limits: APNsLimits())
        pool.stop(reason: APNsAnswerRules.tokenRefusals, now: start)
        #expect(pool.admit(isToProvenDevice: false, now: start + .seconds(3609)) == .refuse)
        #expect(pool.admit(isToProvenDevice: false, now: start + .seconds(3610)) == .probe)
        pool.probeEnded(.unknown, now: start + .seconds(3610))
        #expect(pool.admit(isToProvenDevice: false, now: start + .seconds(3620)) == .refuse)
        #expect(pool.admit(isToProvenDevice: true, now: start + .seconds(3620)) == .probe)
        pool.stop(reason: "InvalidProviderToken", now: start)
        #expect(pool.admit(isToProvenDevice: false, now: start + .seconds(300)) == .probe)
    }

    // MARK: - Refused device tokens

    @Test("More than 5 % of at least 1,000 tokens are too many", arguments: [999, 1000, 1001, 1020, 2000, 5000])
    func refusalShare(answers: Int) {
        for refused in max(0, answers / 20 - 2)...(answers / 20 + 2) {
            var rate = RefusalRate()
            var isExceeded = false
            for token in refused..<answers {
                #expect(rate.record(tokenHash: token, isRefused: false, now: Self.start) == false)
            }
            for token in 0..<refused { isExceeded = rate.record(tokenHash: token, isRefused: true, now: Self.start) }
            #expect(isExceeded == (answers >= 1000 && refused * 20 > answers))
        }
    }

    @Test("Refusals count for ten minutes")
    func refusalsAge() {
        func isExceeded(after seconds: Int) -> Bool {
            var rate = RefusalRate()
            let later = Self.start + .seconds(seconds)
            for token in 0..<1000 { _ = rate.record(tokenHash: token, isRefused: true, now: Self.start) }
            for token in 1000..<1999 { _ = rate.record(tokenHash: token, isRefused: false, now: later) }
            return rate.record(tokenHash: 1999, isRefused: true, now: later)
        }
        for seconds in [0, 1, 59, 60, 61, 300, 599] { #expect(isExceeded(after: seconds)) }
        for seconds in [600, 601, 5000] { #expect(!isExceeded(after: seconds)) }
    }

    @Test("Tokens spread over the minutes count together, and a reset forgets them")
    func refusalsAddUp() {
        var rate = RefusalRate()
        var exceededAt: Int?
        for second in 0..<590 {
            let now = Self.start + .seconds(second)
            _ = rate.record(tokenHash: 2 * second, isRefused: false, now: now)
            if rate.record(tokenHash: 2 * second + 1, isRefused: true, now: now), exceededAt == nil {
                exceededAt = second
            }
        }
        #expect(exceededAt == 499)
        rate.reset()
        #expect(rate.record(tokenHash: 1, isRefused: true, now: Self.start + .seconds(590)) == false)
    }

    @Test("A token counts once, however many pushes it gets, and by its latest answer")
    func refusalsOfTokens() {
        var rate = RefusalRate()
        for _ in 0..<50 {
            for token in 0..<1000 { _ = rate.record(tokenHash: token, isRefused: false, now: Self.start) }
        }
        let exceeded = (1000..<1100).first { rate.record(tokenHash: $0, isRefused: true, now: Self.start) }
        // 53 of 1,053 are more than 5 %.
        #expect(exceeded == 1052)
        for token in 1000..<1100 { _ = rate.record(tokenHash: token, isRefused: false, now: Self.start) }
        #expect(rate.record(tokenHash: 2000, isRefused: true, now: Self.start) == false)
    }

    @Test("Of a million tokens a part stands for all", arguments: [4, 6])
    func refusalsOfMany(percent: Int) {
        var generator = SeededGenerator(seed: 5)
        var rate = RefusalRate()
        var isExceeded = false
        for number in 0..<1_000_000 {
            let isRefused = number % 100 < percent
            let hash = Int.random(in: .min ... .max, using: &generator)
            let isTooMany = rate.record(tokenHash: hash, isRefused: isRefused, now: Self.start)
            if number >= 900_000 { isExceeded = isExceeded || isTooMany }
        }
        #expect(isExceeded == (percent > 5) && rate.count <= RefusalRate.capacity)

        // Then few tokens are answered: all of them count again.
        for (minutes, first) in [(11, 0), (14, 10_000)] {
            let now = Self.start + .seconds(60 * minutes)
            for token in 0..<50 { #expect(rate.record(tokenHash: first + token, isRefused: true, now: now) == false) }
        }
        #expect(rate.count == 100)
    }

    // MARK: - Backoff

    @Test("Pauses double up to the longest, are shortened at random, and end with a success")
    func backoff() {
        let start = Self.start
        var backoff = ConnectBackoff(limits: APNsLimits())
        #expect(backoff.mayConnect(now: start))
        for pause in [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30] {
            backoff.failed(now: start, random: 0)
            #expect(!backoff.mayConnect(now: start + .seconds(pause - 0.001)))
            #expect(backoff.mayConnect(now: start + .seconds(pause)))
        }
        backoff.failed(now: start, random: 1)
        #expect(!backoff.mayConnect(now: start + .seconds(14.999)))
        #expect(backoff.mayConnect(now: start + .seconds(15)))
        backoff.succeeded()
        #expect(backoff.mayConnect(now: start))
        backoff.failed(now: start, random: 0)
        #expect(backoff.mayConnect(now: start + .seconds(0.25)))
    }

    // MARK: - Configuration

    @Test("A key needs Apple's identifiers, bundle identifiers, and a key of P-256")
    func keys() throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        #expect(throws: Never.self) { try APNsKey(team: "ABCDE12345", keyID: "KEY0000001", pem: pem) }
        func problem(
            team: String = "ABCDE12345", keyID: String = "KEY0000001", pem: String, topics: [String]? = nil,
            environments: Set<PushEnvironment> = [.sandbox]
        ) -> String? {
            do {
                _ = try APNsKey(team: team, keyID: keyID, pem: pem, topics: topics, environments: environments)
                return nil
            } catch {
                return error.description
            }
        }
        #expect(problem(team: "ABC", pem: pem) == "The team identifier must be 10 letters and digits.")
        #expect(problem(keyID: "KEY\"000001", pem: pem) == "The key identifier must be 10 letters and digits.")
        #expect(problem(pem: pem, topics: []) != nil)
        #expect(problem(pem: pem, topics: ["com..app"]) != nil)
        #expect(problem(pem: pem, environments: []) != nil)
        #expect(problem(pem: pem, environments: [PushEnvironment(rawValue: "staging")]) != nil)
        #expect(problem(pem: P384.Signing.PrivateKey().pemRepresentation)?.contains("P-256") == true)
        #expect(problem(pem: "")?.contains("KEY0000001") == true)
    }

    @Test("An address is a scheme, a host and perhaps a port")
    func addresses() throws {
        let apple = APNsEndpoints.Server(host: "api.push.apple.com")
        #expect(apple.port == 443 && apple.isEncrypted && apple.authority == "api.push.apple.com")
        #expect(try APNsEndpoints.Server("https://api.push.apple.com") == apple)
        let local = try APNsEndpoints.Server("http://127.0.0.1:8090/")
        #expect(!local.isEncrypted && local.port == 8090 && local.authority == "127.0.0.1:8090")
        let six = try APNsEndpoints.Server("https://[::1]:2197")
        #expect(six.host == "::1" && six.authority == "[::1]:2197" && six.port == 2197)
        for text in ["", "ftp://a", "https://", "https://a/b", "https://a?b", "https://a#b", "https://u@a", "a.b"] {
            #expect(throws: APNsConfigurationError.self) { try APNsEndpoints.Server(text) }
        }
    }
}
