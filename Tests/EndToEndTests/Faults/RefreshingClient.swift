import Contracts
import Foundation
import TestKit

/// An app that refreshes again and again, and as an honest one does: with its token until it has the next.
struct RefreshingClient: Sendable {
    /// What it holds of its session.
    private(set) var held: AuthResponse
    /// How many different successors it was given.
    private(set) var rotations = 0
    private(set) var statuses: [Int: Int] = [:]
    /// Answers that ended in their middle. A gateway cannot take back the head that it has passed on.
    private(set) var brokenOff = 0
    /// The slowest answer.
    private(set) var longest = Duration.zero
    /// Each answer that is neither 200 nor 503, and each request without an answer.
    private(set) var violations: [String] = []

    private let gateway: TestHTTPClient
    private var random: SeededGenerator

    init(_ session: AuthResponse, gateway: TestHTTPClient, random: SeededGenerator) {
        held = session
        self.gateway = gateway
        self.random = random
    }

    /// Refreshes in a loop. One answer in fifty is lost on the client's side: the app was killed, say.
    mutating func refresh(until end: ContinuousClock.Instant) async throws {
        while ContinuousClock.now < end {
            try await refreshOnce(losesAnswer: Int.random(in: 0..<50, using: &random) == 0)
            try await Task.sleep(for: .milliseconds(Int.random(in: 200...1_000, using: &random)))
        }
    }

    /// - Returns: whether it was given a successor.
    @discardableResult
    mutating func refreshOnce(losesAnswer: Bool = false) async throws -> Bool {
        let start = ContinuousClock.now
        do {
            let answer = try await gateway.call(
                "POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: held.refreshToken))
            longest = max(longest, ContinuousClock.now - start)
            statuses[answer.status, default: 0] += 1
            guard answer.status == 200 else {
                if answer.status != 503 { violations.append("\(answer.status) \(answer.text)") }
                return false
            }
            if losesAnswer { return false }
            let successor = try answer.decode(AuthResponse.self)
            if successor.refreshToken == held.refreshToken { violations.append("its own token again") }
            held = successor
            rotations += 1
            return true
        } catch let error as CancellationError {
            throw error
        } catch is TestHTTPClient.AnswerBrokenOff {
            brokenOff += 1
            return false
        } catch {
            violations.append("no answer after \(ContinuousClock.now - start): \(error)")
            return false
        }
    }
}
