import Foundation
import TestKit
import Testing

@testable import TokensService

/// The model of a session's row that exploration and simulation run on.
@Suite struct SessionModelTests {
    /// Time passes by 300 and 600 s, which never add up to nearly an expiry: a slow machine changes nothing.
    private static let lifetimes = SessionStore.Lifetimes(access: 10, idle: 1_000, absolute: 2_500)

    private let rotatedAt = Date(timeIntervalSince1970: 1_000_000)

    /// Generation 10, rotated at `rotatedAt`, 9,000 seconds before its end.
    private var session: RotationState {
        RotationState(
            generation: 10, currentHash: [10], previousHash: [9], rotatedAt: rotatedAt, lateReplays: 0,
            lateReplayed: false, expiresAt: rotatedAt + 1000, absoluteExpiresAt: rotatedAt + 9000)
    }

    @Test func aRotationMovesTheIdleExpiryUpToTheAbsoluteOne() {
        let rotated = session.rotated(to: [11], at: rotatedAt + 100, idleLifetime: 1000)
        #expect(rotated.generation == 11)
        #expect(rotated.previousHash == [10])
        #expect(rotated.rotatedAt == rotatedAt + 100)
        #expect(rotated.expiresAt == rotatedAt + 1100)
        let last = session.rotated(to: [11], at: rotatedAt + 8999, idleLifetime: 1000)
        #expect(last.expiresAt == session.absoluteExpiresAt)
    }

    @Test("A generation passes without a late replay: the count returns to zero")
    func lateReplays() {
        var state = session.countingLateReplay()
        #expect(state.lateReplays == 1)
        state = state.rotated(to: [11], at: rotatedAt + 100, idleLifetime: 1000)
        #expect(state.lateReplays == 1, "generation 10 was reached by a late replay")
        state = state.rotated(to: [12], at: rotatedAt + 200, idleLifetime: 1000)
        #expect(state.lateReplays == 0, "generation 11 was not")
    }

    /// Takes SQL and model through the same random steps. After each, the row is the same, and both wrote or neither
    /// did.
    @Test(arguments: UInt64(1)...4)
    func theSQLDoesWhatTheModelSays(seed: UInt64) async throws {
        try await TokensFixture.with(lifetimes: Self.lifetimes) { tokens in
            var random = SeededGenerator(seed: seed)
            var seen: Set<ModelledSession.Event> = []
            for number in 1...15 {
                var session = try await ModelledSession.signIn(tokens)
                for count in 1...25 {
                    let step = session.randomStep(using: &random)
                    let event = try await session.take(step)
                    seen.insert(event)
                    let (row, model) = try await session.rowAndModel()
                    try #require(row == model, "session \(number), step \(count): \(step), \(event)")
                }
            }
            #expect(seen == Set(ModelledSession.Event.allCases), "steps that never happen say nothing")
        }
    }
}
