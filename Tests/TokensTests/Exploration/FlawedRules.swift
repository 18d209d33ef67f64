import Foundation

@testable import TokensService

/// The rules and the writes as they are, or with one of them wrong on purpose. An invariant that no wrong rule breaks
/// would prove nothing.
struct FlawedRules {
    enum Flaw: CaseIterable {
        // In the rules.
        case noRetryWindow, noRaceWindow, ignoresAge, countsEveryReplay, allowsNoLateReplay
        case forgetsLateReplays, allowsAllLateReplays, takesOlderTokensForPredecessors
        // In what is done about them.
        case updatesUnconditionally, updatesExpiredSessions, makesANewSuccessorForEachRetry
        case answersRetriesWithoutSuccessor

        /// The invariant that has to break.
        var breaks: RotationModel.Violation {
            switch self {
            case .noRetryWindow, .noRaceWindow, .ignoresAge, .countsEveryReplay, .allowsNoLateReplay: .signedOut
            case .forgetsLateReplays, .allowsAllLateReplays, .takesOlderTokensForPredecessors: .unseen
            case .updatesUnconditionally, .makesANewSuccessorForEachRetry: .forked
            case .updatesExpiredSessions: .outlived
            case .answersRetriesWithoutSuccessor: .stuck
            }
        }
    }

    static let retryWindow = 60
    let limit: Int
    let flaw: Flaw?
    private let rules: RotationRules

    init(limit: Int, flaw: Flaw? = nil) {
        self.limit = limit
        self.flaw = flaw
        rules = RotationRules(
            retryWindow: flaw == .noRetryWindow ? -.infinity : TimeInterval(Self.retryWindow),
            raceWindow: flaw == .noRaceWindow ? 0 : 5,
            lateReplayLimit: flaw == .allowsAllLateReplays ? .max : limit,
            mode: flaw == .allowsNoLateReplay ? .strict : .resilient)
    }

    func decide(on token: RotationModel.Token, age: Int, of session: RotationState) -> RotationDecision {
        var (token, session) = (token, session)
        if flaw == .takesOlderTokensForPredecessors { token = max(token, session.generation - 1) }
        if flaw == .countsEveryReplay { session.lateReplayed = false }
        let presented = RotationRules.Presented(
            generation: token, hash: Self.hash(of: token), isGenuine: true,
            age: flaw == .ignoresAge ? 0 : TimeInterval(age))
        return rules.decide(on: presented, of: session, at: .reference)
    }

    func rotated(_ session: RotationState) -> RotationState {
        var session = session
        if flaw == .forgetsLateReplays { session.lateReplayed = false }
        return session.rotated(to: Self.hash(of: session.generation + 1), at: .reference, idleLifetime: 1)
    }

    static func hash(of token: RotationModel.Token) -> [UInt8] { [UInt8(token)] }
}

extension Date {
    /// Now, in every world.
    static let reference = Date(timeIntervalSinceReferenceDate: 0)
}
