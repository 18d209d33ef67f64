import Contracts
import TestKit
import Testing

/// Without a race window, so that nothing else forgives.
@Suite(.gatehouse(tokensReplicas: 2, settings: ["TOKENS_RACE_WINDOW": "0"])) struct StoppedReplicaTests {
    let system = GatehouseSystem.current

    /// A request waits in the socket of a replica that stands still, and the app goes on with another: when it is read
    /// at last its token is long rotated away, and its holder is no thief.
    @Test func aRequestThatWaitedInAStoppedReplicasSocketIsNoTheft() async throws {
        let first = try await system.journey.register().refreshToken
        let stopped = system.process("tokens-2")
        stopped.suspend()
        defer { stopped.resume() }
        let start = ContinuousClock.now
        async let late = refresh(first, on: "tokens-2")
        let second = try await successor(of: first)
        let third = try await successor(of: second)
        try await eventually("the replica has stood still for a while") { ContinuousClock.now > start + .seconds(2) }
        stopped.resume()
        let answer = try await late
        #expect(answer.status == 503, "\(answer.text)")
        _ = try await successor(of: third)
    }

    private func refresh(_ token: String, on replica: String) async throws -> TestHTTPClient.Response {
        try await TestHTTPClient(system.process(replica).url)
            .call("POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: token))
    }

    private func successor(of token: String) async throws -> String {
        let answer = try await refresh(token, on: "tokens")
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(AuthResponse.self).refreshToken
    }
}
