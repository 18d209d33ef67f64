import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import TokensService

/// Timing alone makes no thief of an honest app.
@Suite struct HonestTimingTests {
    /// An app wakes up with a dozen calls to make and a token whose successor it never received.
    @Test func aBurstOfLateReplaysCountsOnce() async throws {
        try await TokensFixture.with(rules: RotationRules(lateReplayLimit: 1)) { tokens in
            let replicas = try (0..<4).map { _ in try tokens.refresher() }
            var held = try await tokens.signIn()
            let lost = try await replicas[0].refresh(held)
            try await tokens.age(held.sessionID, by: 3600)
            let answers = try await atOnce(100, of: held, replicas)
            #expect(answers == [lost.refreshToken])
            #expect(try await tokens.count("sessions WHERE late_replays = 1") == 1)
            held = lost.refresh
            // Nothing was lost this time, so the next loss is the first again.
            for _ in 0..<2 { held = try await replicas[0].refresh(held).refresh }
            #expect(try await tokens.count("sessions WHERE late_replays = 0") == 1)
        }
    }

    /// The app and its extension: one refreshes while the other's request is still on its way.
    @Test func twoProcessesThatShareATokenAreOneHolder() async throws {
        try await TokensFixture.with(rules: RotationRules(lateReplayLimit: 1)) { tokens in
            let replicas = try (0..<2).map { _ in try tokens.refresher() }
            var held = try await tokens.signIn()
            for _ in 0..<10 {
                let answers = try await atOnce(2, of: held, replicas)
                #expect(answers.count == 1)
                held = try #require(answers.first.flatMap(RefreshToken.init(text:)))
                try await tokens.age(held.sessionID, by: 3600)
            }
            #expect(try await tokens.generation(of: held.sessionID) == 10)
            #expect(try await tokens.count("sessions WHERE late_replays = 0") == 1)
        }
    }

    /// A request that waited for its turn on a busy machine: the app gave it up, closed the connection, and went on.
    @Test func anAbandonedRequestIsNotTheft() async throws {
        try await TokensFixture.with { tokens in
            let refresher = try tokens.refresher()
            let first = try await tokens.signIn()
            var held = first
            for _ in 0..<2 { held = try await refresher.refresh(held).refresh }
            try await tokens.age(held.sessionID, by: 3600)
            var givenUp = Refresher.Client.test
            givenUp.isAwaited = { false }
            let abandoned = givenUp
            await #expect(throws: Problem(.unavailable)) { try await refresher.refresh(first.text, from: abandoned) }
            held = try await refresher.refresh(held).refresh
            try await tokens.age(held.sessionID, by: 3600)
            #expect(try await refresher.refusal(of: first) == .invalidRefreshToken)
            #expect(
                try await refresher.refusal(of: held) == .invalidRefreshToken, "a waiting client shows there are two")
        }
    }

    /// A request that a replica had read before it was stopped. The app went on with another replica meanwhile.
    @Test func aRequestThatSleptIsJudgedAsOfItsArrival() async throws {
        try await TokensFixture.with { tokens in
            let refresher = try tokens.refresher()
            let first = try await tokens.signIn()
            let second = try await refresher.refresh(first).refresh
            try await tokens.age(first.sessionID, by: 3600)
            var asleep = Refresher.Client.test
            asleep.arrivedAt -= .seconds(3601)
            // Late only because it slept: a lost response is not counted.
            let successor = try await refresher.refresh(first.text, from: asleep)
            #expect(successor.refreshToken == second.text)
            #expect(try await tokens.count("sessions WHERE late_replays = 0") == 1)
            let third = try await refresher.refresh(second).refresh
            try await tokens.age(first.sessionID, by: 3600)
            await #expect(throws: Problem(.unavailable)) { try await refresher.refresh(first.text, from: asleep) }
            _ = try await refresher.refresh(third)
        }
    }

    /// - Returns: the different successors that were given.
    private func atOnce(_ count: Int, of token: RefreshToken, _ replicas: [Refresher]) async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<count {
                group.addTask { try await replicas[index % replicas.count].refresh(token).refreshToken }
            }
            return try await group.reduce(into: []) { $0.insert($1) }
        }
    }
}
