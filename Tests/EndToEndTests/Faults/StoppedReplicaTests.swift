import Contracts
import Foundation
import Postgres
import TestKit
import Testing

/// Without a race window, so that nothing else forgives.
@Suite(.gatehouse(tokensReplicas: 2, settings: SystemSettings.impatient(["TOKENS_RACE_WINDOW": "0"])), .serialized)
struct StoppedReplicaTests {
    let system = GatehouseSystem.current

    /// A request waits in the socket of a replica that stands still, and the app goes on with another: when it is read
    /// at last its token is long rotated away, and its holder is no thief.
    @Test func aRequestThatWaitedInAStoppedReplicasSocketIsNoTheft() async throws {
        let first = try await system.journey.register().refreshToken
        let stopped = system.process("tokens-2")
        await stopped.suspend()
        defer { stopped.resume() }
        let start = ContinuousClock.now
        async let late = refresh(first, through: stopped)
        let second = try await successor(of: first)
        let third = try await successor(of: second)
        try await stillStands(2, since: start)
        stopped.resume()
        let answer = try await late
        #expect(answer.status == 503, "\(answer.text)")
        _ = try await successor(of: third)
    }

    /// The same in the socket of a gateway, which tells tokens for how long it stood still.
    @Test func aRequestThatWaitedInAStoppedGatewaysSocketIsNoTheft() async throws {
        try await system.withGateway { stopped in
            try await stopped.start()
            let first = try await system.journey.register().refreshToken
            await stopped.suspend()
            defer { stopped.resume() }
            let start = ContinuousClock.now
            async let late = refresh(first, through: stopped)
            // What the way from gateway to tokens takes is not seen: the rotations lie well behind the stop.
            try await stillStands(1, since: start)
            let second = try await successor(of: first)
            let third = try await successor(of: second)
            try await stillStands(2, since: start)
            stopped.resume()
            let answer = try await late
            #expect(answer.status == 503, "\(answer.text)")
            _ = try await successor(of: third)
        }
    }

    /// Nobody waits for its answer any more, and meanwhile the app may have done something else.
    @Test func whatWaitedLongerThanItsDeadlineIsNotDone() async throws {
        let first = try await system.journey.register().refreshToken
        let stopped = system.process("tokens-2")
        await stopped.suspend()
        defer { stopped.resume() }
        let start = ContinuousClock.now
        async let late = TestHTTPClient(stopped.url).post(
            "/v1/auth/logout", json: LogoutRequest(refreshToken: first),
            headers: [HeaderName.deadline: "1000"])
        try await stillStands(2, since: start)
        stopped.resume()
        let answer = try await late
        #expect(answer.status == 503, "\(answer.text)")
        _ = try await successor(of: first)
    }

    /// The sign-in began before the user signed out everywhere, however young it looks when it is read.
    @Test func aSignInThatWaitedOutrunsNoSignOut() async throws {
        let user = try await system.journey.register().user
        let stopped = system.process("tokens-2")
        await stopped.suspend()
        defer { stopped.resume() }
        let start = ContinuousClock.now
        let signIn = CreateSessionRequest(
            sessionID: UUID(), snapshot: UserSnapshot(user: user, version: 2), credentialsVersion: 1, signInAge: 0)
        async let late = TestHTTPClient(stopped.url).post(
            "/internal/sessions", json: signIn,
            headers: [HeaderName.credential: system.settings["IDENTITY_TOKENS_CREDENTIAL"] ?? ""])
        try await signOutEverywhere(user, whileStoppedSince: start)
        stopped.resume()
        try await expectRefused(try await late, user)
    }

    /// The same where it waited in the socket of identity, which tells tokens how old it is.
    @Test func aSignInThatWaitedInIdentityOutrunsNoSignOut() async throws {
        let email = Journey.uniqueEmail()
        let user = try await system.journey.register(identifier: email).user
        let stopped = system.process("identity")
        await stopped.suspend()
        defer { stopped.resume() }
        let start = ContinuousClock.now
        async let late = TestHTTPClient(stopped.url).call(
            "POST", "/v1/auth/login", json: LoginRequest(identifier: email, password: Journey.password))
        try await signOutEverywhere(user, whileStoppedSince: start)
        stopped.resume()
        try await expectRefused(try await late, user)
    }

    private func signOutEverywhere(_ user: User, whileStoppedSince start: ContinuousClock.Instant) async throws {
        let gateway = [
            HeaderName.credential: system.settings["GATEWAY_TOKENS_CREDENTIAL"] ?? "",
            HeaderName.userID: user.id.uuidString, HeaderName.sessionID: UUID().uuidString,
            HeaderName.role: user.role,
        ]
        try await stillStands(1, since: start)
        let everywhere = try await TestHTTPClient(system.process("tokens").url).call(
            "POST", "/v1/auth/logout-all", headers: gateway, body: nil)
        try #require(everywhere.status == 204, "\(everywhere.text)")
        try await stillStands(2, since: start)
    }

    private func expectRefused(_ answer: TestHTTPClient.Response, _ user: User) async throws {
        #expect(answer.status == 503, "\(answer.text)")
        try await system.withDatabase(of: "tokens") { connection in
            let left = try await connection.query("SELECT id FROM sessions WHERE user_id = \(user.id)")
            #expect(left.isEmpty)
        }
    }

    /// Waits until a process that was stopped has stood still for so many seconds. Here time passes by nature.
    private func stillStands(_ seconds: Int, since start: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: start + .seconds(seconds))
    }

    private func refresh(
        _ token: String, through process: ServiceProcess
    ) async throws -> TestHTTPClient.Response {
        try await TestHTTPClient(process.url)
            .call("POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: token))
    }

    private func successor(of token: String) async throws -> String {
        let answer = try await refresh(token, through: system.process("tokens"))
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(AuthResponse.self).refreshToken
    }
}
