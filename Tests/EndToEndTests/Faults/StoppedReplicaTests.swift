import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

/// Without a race window, which would hide the errors that these tests look for.
@Suite(.gatehouse(tokensReplicas: 2, settings: SystemSettings.impatient(["TOKENS_RACE_WINDOW": "0"])), .serialized)
struct StoppedReplicaTests {
    let system = GatehouseSystem.current

    /// An app's request waits in the socket of a stopped replica, and the app goes on with another replica. When the
    /// request is read at last, two rotations have overtaken its token; its holder is no thief.
    @Test("A request waits in the socket of a stopped replica: its old token is not taken for theft")
    func requestInAStoppedReplica() async throws {
        let first = try await system.journey.register().refreshToken
        var third = ""
        try await expectUnavailable(system.process("tokens-2")) { client in
            try await client.call("POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: first))
        } after: { start in
            third = try await successor(of: successor(of: first))
            try await stillStands(2, since: start)
        }
        _ = try await successor(of: third)
    }

    /// The same in the socket of a gateway, which tells tokens for how long it stood still.
    @Test("A request waits in the socket of a stopped gateway: its old token is not taken for theft")
    func requestInAStoppedGateway() async throws {
        try await system.withGateway { gateway in
            try await gateway.start()
            let first = try await system.journey.register().refreshToken
            var third = ""
            try await expectUnavailable(gateway) { client in
                try await client.call("POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: first))
            } after: { start in
                // The time from gateway to tokens is not counted: the rotations come well after the stop.
                try await stillStands(1, since: start)
                third = try await successor(of: successor(of: first))
                try await stillStands(2, since: start)
            }
            _ = try await successor(of: third)
        }
    }

    /// A request whose deadline has passed is not handled: its caller has given up, and meanwhile the app may have
    /// done something else.
    @Test func aRequestPastItsDeadlineIsNotHandled() async throws {
        let first = try await system.journey.register().refreshToken
        try await expectUnavailable(system.process("tokens-2")) { client in
            try await client.post(
                "/v1/auth/logout", json: LogoutRequest(refreshToken: first), headers: [HeaderName.deadline: "1000"])
        } after: { start in
            try await stillStands(2, since: start)
        }
        _ = try await successor(of: first)
    }

    /// The sign-in began before the user signed out everywhere, although it looks new when it is read.
    @Test func aDelayedSignInDoesNotOutliveASignOut() async throws {
        let user = try await system.journey.register().user
        let signIn = CreateSessionRequest(
            sessionID: .session(of: user.id), snapshot: UserSnapshot(user: user, version: 2), credentialsVersion: 1,
            signInAge: 0)
        let credential = system.settings["IDENTITY_TOKENS_CREDENTIAL"] ?? ""
        try await expectUnavailable(system.process("tokens-2")) { client in
            try await client.post("/internal/sessions", json: signIn, headers: [HeaderName.credential: credential])
        } after: { start in
            try await signOutEverywhere(user, whileStoppedSince: start)
        }
        try await expectNoSession(of: user)
    }

    /// The same in the socket of identity, which tells tokens how old the sign-in is.
    @Test func aSignInDelayedInIdentityDoesNotOutliveASignOut() async throws {
        let email = Journey.uniqueEmail()
        let user = try await system.journey.register(identifier: email).user
        try await expectUnavailable(system.process("identity")) { client in
            try await client.call(
                "POST", "/v1/auth/login", json: LoginRequest(identifier: email, password: Journey.password))
        } after: { start in
            try await signOutEverywhere(user, whileStoppedSince: start)
        }
        try await expectNoSession(of: user)
    }

    /// Stops a process, sends it a request, and lets it go on after `meanwhile`, which is told when it was stopped. The
    /// answer has to be 503.
    private func expectUnavailable(
        _ process: ServiceProcess,
        _ request: @escaping @Sendable (TestHTTPClient) async throws -> TestHTTPClient.Response,
        after meanwhile: (ContinuousClock.Instant) async throws -> Void
    ) async throws {
        await process.suspend()
        defer { process.resume() }
        let start = ContinuousClock.now
        async let late = request(TestHTTPClient(process.url))
        try await meanwhile(start)
        process.resume()
        let answer = try await late
        #expect(answer.status == 503, "\(answer.text)")
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

    private func expectNoSession(of user: User) async throws {
        try await system.withDatabase(of: "tokens") { connection in
            let left = try await connection.query("SELECT id FROM sessions WHERE user_id = \(user.id)")
            #expect(left.isEmpty)
        }
    }

    /// Waits until a process has stood still for so many seconds. Real time has to pass here.
    private func stillStands(_ seconds: Int, since start: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: start + .seconds(seconds))
    }

    private func successor(of token: String) async throws -> String {
        let answer = try await TestHTTPClient(system.process("tokens").url)
            .call("POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: token))
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(AuthResponse.self).refreshToken
    }
}
