import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct RetryPolicyTests {
    private let policy = GatehouseRetryPolicy()

    private func decide(
        _ outcome: GatehouseRetryPolicy.Outcome, attempt: Int = 1, isIdempotent: Bool = true, random: Double = 0.5
    ) -> GatehouseRetryPolicy.Decision {
        policy.decision(after: attempt, isIdempotent: isIdempotent, outcome: outcome, random: random)
    }

    @Test func pausesGrowAndAreDrawnFromTheWholeRange() {
        let lost = GatehouseRetryPolicy.Outcome.failed(.networkConnectionLost)
        #expect(decide(lost, random: 0) == .pause(.zero))
        #expect(decide(lost, random: 0.5) == .pause(.milliseconds(200)))
        #expect(decide(lost, attempt: 2, random: 0.5) == .pause(.milliseconds(400)))
        var patient = policy
        patient.attempts = 100
        let late = patient.decision(after: 60, isIdempotent: true, outcome: lost, random: 0.5)
        #expect(late == .pause(.seconds(1)))
    }

    @Test func theThirdAttemptIsTheLast() {
        #expect(decide(.failed(.timedOut), attempt: 2) != .giveUp)
        #expect(decide(.failed(.timedOut), attempt: 3) == .giveUp)
    }

    @Test(arguments: [
        ("GET", true), ("HEAD", true), ("OPTIONS", true), ("PUT", true), ("DELETE", true), ("POST", false),
        ("PATCH", false), ("get", false), ("ǴET", false),
    ])
    func methods(method: String, isIdempotent: Bool) {
        #expect(GatehouseRetryPolicy.isIdempotent(method: method) == isIdempotent)
    }

    @Test func requestsThatAreNotIdempotentAreNotRetried() {
        #expect(decide(.failed(.networkConnectionLost), isIdempotent: false) == .giveUp)
        #expect(decide(.answered(status: 503, retryAfter: nil), isIdempotent: false) == .giveUp)
    }

    @Test(arguments: [429, 502, 503, 504])
    func statusesThatMayPass(status: Int) {
        #expect(decide(.answered(status: status, retryAfter: nil)) == .pause(.milliseconds(200)))
    }

    @Test(arguments: [200, 204, 302, 400, 401, 403, 404, 409, 422, 500, 501])
    func statusesThatStay(status: Int) {
        #expect(decide(.answered(status: status, retryAfter: nil)) == .giveUp)
    }

    @Test(arguments: [
        URLError.Code.timedOut, .networkConnectionLost, .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed,
    ])
    func failuresThatMayPass(code: URLError.Code) {
        #expect(decide(.failed(code)) != .giveUp)
    }

    @Test(arguments: [
        URLError.Code.notConnectedToInternet, .cancelled, .badURL, .secureConnectionFailed,
        .serverCertificateUntrusted, .httpTooManyRedirects,
    ])
    func failuresThatStay(code: URLError.Code) {
        #expect(decide(.failed(code)) == .giveUp)
    }

    @Test func theServersPauseIsKeptAndSpreadWithinTheLongest() {
        let asked = GatehouseRetryPolicy.Outcome.answered(status: 503, retryAfter: .seconds(1))
        #expect(decide(asked, random: 0) == .pause(.seconds(1)))
        #expect(decide(asked, random: 0.5) == .pause(.milliseconds(1200)))
        let longest = GatehouseRetryPolicy.Outcome.answered(status: 429, retryAfter: .seconds(2))
        #expect(decide(longest, random: 0.99) == .pause(.seconds(2)))
    }

    @Test func aLongerPauseIsForTheAppToDecide() {
        #expect(decide(.answered(status: 429, retryAfter: .milliseconds(2001))) == .giveUp)
        #expect(decide(.answered(status: 503, retryAfter: .seconds(3600))) == .giveUp)
    }

    @Test("Each attempt of an idempotent call has two seconds; the last one has the rest of the budget")
    func attemptLimit() {
        func limit(_ attempt: Int, isIdempotent: Bool = true, left: Duration? = .seconds(30)) -> Duration? {
            policy.limit(ofAttempt: attempt, isIdempotent: isIdempotent, left: left)
        }
        #expect([1, 2, 3].map { limit($0) } == [.seconds(2), .seconds(2), nil])
        #expect(limit(1, isIdempotent: false) == nil)
        // Transfers of files have no budget.
        #expect(limit(1, left: nil) == nil)
        // No other attempt would follow.
        #expect(limit(1, left: .milliseconds(2400)) == nil)
        #expect(limit(1, left: .milliseconds(2401)) == .seconds(2))
        #expect(limit(2, left: .milliseconds(2800)) == nil)
        #expect(limit(2, left: .milliseconds(2801)) == .seconds(2))
    }
}
