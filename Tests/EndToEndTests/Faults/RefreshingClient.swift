import Foundation
import GatehouseServiceContracts
import TestKit

/// A process of an app that refreshes again and again, and as an honest one does: with the token that is stored.
struct RefreshingClient: Sendable {
    enum Outcome {
        case renewed
        /// 503.
        case told
        /// The answer was lost on its way.
        case lost
        /// The outcome of the request is unknown. It may still be in progress.
        case gaveUp
    }

    let session: StoredSession
    private(set) var statuses: [Int: Int] = [:]
    /// Answers that ended in their middle. A gateway cannot take back the head that it has passed on.
    private(set) var brokenOff = 0
    /// Answers that it did not wait for.
    private(set) var givenUp = 0
    /// The slowest answer.
    private(set) var longest = Duration.zero
    /// Each answer that is neither 200 nor 503, and each request without an answer that it would have waited for.
    private(set) var violations: [String] = []

    private let gateway: URL
    private let isPatient: Bool
    private var random: SeededGenerator

    /// - Parameter isPatient: whether it waits for every answer; otherwise for 0.3 to 1.5 s.
    init(_ session: StoredSession, gateway: URL, isPatient: Bool = true, random: SeededGenerator) {
        self.session = session
        self.gateway = gateway
        self.isPatient = isPatient
        self.random = random
    }

    /// Refreshes in a loop. One answer in fifty is lost on the client's side: the app was killed, say. One pause in
    /// thirty is longer than any race window, and requests that were given up may be read after it.
    ///
    /// Who has not been served at the end goes on for a while: a busy machine may be slow to.
    mutating func refresh(until end: ContinuousClock.Instant) async throws {
        var failures = 0
        while .now < end || session.rotations == 0 && .now < end + .seconds(60) {
            let outcome = try await refreshOnce(losesAnswer: Int.random(in: 0..<50, using: &random) == 0)
            failures = outcome == .renewed || outcome == .lost ? 0 : failures + 1
            let pause = pause(after: outcome, failures)
            try await Task.sleep(for: .now < end ? min(pause, end - .now) : pause)
        }
    }

    /// Later each time that it fails: a crowd that never lets go would leave nothing to serve.
    private mutating func pause(after outcome: Outcome, _ failures: Int) -> Duration {
        let backoff = min(100 << min(failures, 6), 5_000)
        switch outcome {
        case .renewed, .lost:
            let isLong = Int.random(in: 0..<30, using: &random) == 0
            return .milliseconds(Int.random(in: isLong ? 5_500...7_500 : 200...1_000, using: &random))
        case .told:
            // A second is what `Retry-After` says.
            return .milliseconds(1_000 + Int.random(in: 0...backoff, using: &random))
        case .gaveUp:
            return failures == 1 ? .zero : .milliseconds(Int.random(in: 0...backoff, using: &random))
        }
    }

    @discardableResult
    mutating func refreshOnce(losesAnswer: Bool = false) async throws -> Outcome {
        let timeout = Duration.milliseconds(isPatient ? 15_000 : Int.random(in: 300...1_500, using: &random))
        let sent = session.held.refreshToken
        let start = ContinuousClock.now
        do {
            let answer = try await TestHTTPClient(gateway, timeout: timeout).call(
                "POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: sent))
            longest = max(longest, ContinuousClock.now - start)
            statuses[answer.status, default: 0] += 1
            guard answer.status == 200 else {
                if answer.status != 503 { violations.append("\(answer.status) \(answer.text)") }
                return .told
            }
            if losesAnswer { return .lost }
            let successor = try answer.decode(AuthResponse.self)
            if successor.refreshToken == sent { violations.append("its own token again") }
            session.replace(sent, by: successor)
            return .renewed
        } catch let error as CancellationError {
            throw error
        } catch {
            let time = ContinuousClock.now - start
            if !isPatient, time >= timeout {
                givenUp += 1
                return .gaveUp
            }
            if error is TestHTTPClient.AnswerBrokenOff {
                brokenOff += 1
            } else {
                violations.append("no answer after \(time): \(error)")
            }
            return .lost
        }
    }
}
