import Contracts
import Foundation
import Postgres
import TestKit
import Testing

/// One token, two hundred hands, two replicas.
@Suite(.gatehouse(tokensReplicas: 2)) struct RefreshRaceTests {
    let system = GatehouseSystem.current
    var journey: Journey { system.journey }

    @Test func twoHundredAtOnceGetOneSuccessorWithRedisAndWithout() async throws {
        try await race()
        await system.redis.kill()
        try await race()
        try await system.redis.restart()
    }

    @Test func anOlderGenuineTokenEndsTheSessionOnceTheRaceWindowHasPassed() async throws {
        let session = try await journey.register()
        let second = try await rotate(session.refreshToken)
        let third = try await rotate(second)
        // Within the race window it may be a request that slept in a stopped replica: nothing is revoked.
        #expect(try await journey.refresh(session.refreshToken).status == 503)
        try await system.age(session, by: 6)
        #expect(try await journey.refresh(session.refreshToken).code == "INVALID_REFRESH_TOKEN")
        #expect(try await journey.refresh(third).code == "INVALID_REFRESH_TOKEN")
        try await journey.expectRefusedSoon(session.accessToken)
    }

    private func race() async throws {
        let session = try await journey.register()
        let replicas = system.tokensReplicas
        let answers = try await withThrowingTaskGroup(of: TestHTTPClient.Response.self) { group in
            for number in 0..<200 {
                group.addTask {
                    try await replicas[number % replicas.count].call(
                        "POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: session.refreshToken))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count { $0.status == 200 } == 200)
        let successors = try Set(answers.map { try $0.decode(AuthResponse.self).refreshToken })
        #expect(successors.count == 1)
        #expect(!successors.contains(session.refreshToken))
        #expect(try await generation(of: session) == 1)
    }

    private func rotate(_ token: String) async throws -> String {
        let answer = try await journey.refresh(token)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(AuthResponse.self).refreshToken
    }

    private func generation(of answer: AuthResponse) async throws -> Int? {
        try await system.withDatabase(of: "tokens") { connection in
            try await connection.query("SELECT generation FROM sessions WHERE user_id = \(answer.user.id)")
                .decode(Int32.self).first.map(Int.init)
        }
    }
}
