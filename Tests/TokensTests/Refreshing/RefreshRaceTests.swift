import Foundation
import GatehouseServiceContracts
import Redis
import TestKit
import Testing

@testable import TokensService

/// Many who refresh one session at once, over replicas that share nothing but PostgreSQL and Redis.
@Suite struct RefreshRaceTests {
    @Test func oneOfManyRotates() async throws {
        try await TokensFixture.with { try await race($0) }
    }

    @Test func withoutRedisPostgreSQLAloneDecides() async throws {
        var nowhere = RedisConfiguration(host: "127.0.0.1", port: 1)
        nowhere.connectTimeout = .milliseconds(50)
        try await TokensFixture.with(redis: nowhere) { try await race($0) }
    }

    /// Its holder is gone: the lock only saves work.
    @Test func aLockThatNobodyReleasesDelaysOnly() async throws {
        try await TokensFixture.with { tokens in
            let first = try await tokens.signIn()
            let lock = RaceLock(redis: tokens.redis, timeout: .seconds(20))
            guard case .acquired = await lock.acquire(first.sessionID) else {
                Issue.record("the lock was not free")
                return
            }
            let issued = try await tokens.refresher().refresh(first)
            #expect(issued.refresh.generation == 1)
        }
    }

    private func race(_ tokens: TokensFixture) async throws {
        let first = try await tokens.signIn()
        let replicas = try (0..<4).map { _ in try tokens.refresher() }
        let answers = try await withThrowingTaskGroup(of: IssuedTokens.self) { group in
            for index in 0..<200 { group.addTask { try await replicas[index % replicas.count].refresh(first) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 200)
        #expect(Set(answers.map(\.refreshToken)).count == 1)
        #expect(try await tokens.generation(of: first.sessionID) == 1)
    }
}
