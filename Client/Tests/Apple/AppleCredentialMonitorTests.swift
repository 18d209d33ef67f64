import Foundation
import GatehouseContracts
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("The user's consent to sign in with Apple")
struct AppleCredentialMonitorTests {
    /// What a device says, and a way to say that something was taken back.
    private final class FakeCredentials: AppleCredentials {
        private let answer = Mutex<AppleCredentialState?>(.authorized)
        private let asked = Mutex<[String]>([])
        private let listeners = Mutex<[Int: @Sendable () -> Void]>([:])

        var questions: [String] { asked.withLock { $0 } }
        var listening: Int { listeners.withLock { $0.count } }

        func say(_ state: AppleCredentialState?) { answer.withLock { $0 = state } }

        func revoke() {
            say(.revoked)
            for listener in listeners.withLock({ Array($0.values) }) { listener() }
        }

        func state(of userID: String) async throws -> AppleCredentialState {
            asked.withLock { $0.append(userID) }
            guard let state = answer.withLock({ $0 }) else { throw URLError(.unknown) }
            return state
        }

        func onRevocation(_ body: @escaping @Sendable () -> Void) async {
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            listeners.withLock { $0[0] = body }
            for await _ in ends {}
            listeners.withLock { $0[0] = nil }
            withExtendedLifetime(end) {}
        }
    }

    /// Without a network while it is asked once.
    private final class OfflineOnce: GatehouseConnectivity {
        private let body = Mutex<(@Sendable () -> Void)?>(nil)

        var changes: AsyncStream<Bool> { AsyncStream { $0.finish() } }

        var isOnline: Bool {
            let body = body.withLock { body in
                defer { body = nil }
                return body
            }
            body?()
            return body == nil
        }

        /// - Parameter body: runs when the network is missing.
        func beginOffline(_ body: @escaping @Sendable () -> Void) { self.body.withLock { $0 = body } }
    }

    private let credentials = FakeCredentials()
    private let connectivity = OfflineOnce()

    /// A session that began with Apple, of a user who has these ways to sign in.
    private func signedIn(
        _ providers: [AuthProvider] = [.apple], appleUserID: String? = "apple-ada",
        then replies: [FakeTransport.Reply] = [.json(Sample.user)]
    ) async throws -> GatehouseClient {
        var response = Sample.auth("first")
        response.user.authProviders = providers
        let transport = FakeTransport(.json(response))
        await transport.then(replies)
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
                transport: transport, connectivity: connectivity, clock: ManualClock()))
        try await client.session.begin(
            client.api.call("POST", "/v1/auth/apple", returning: AuthResponse.self), appleUserID: appleUserID)
        return client
    }

    private func monitor(_ client: GatehouseClient, isSimulator: Bool = false) -> AppleCredentialMonitor {
        AppleCredentialMonitor(session: client.session, credentials: credentials, isSimulator: isSimulator)
    }

    @Test(
        "No state of the consent ends a session that the server knows",
        arguments: [
            (.authorized, [.apple], false), (.transferred, [.apple], false), (nil, [.apple], false),
            (.revoked, [.apple], true), (.revoked, [.apple, .password], true),
            (.notFound, [.apple], true), (.notFound, [.apple, .password], true),
        ] as [(AppleCredentialState?, [AuthProvider], Bool)])
    func answers(state: AppleCredentialState?, providers: [AuthProvider], isVerified: Bool) async throws {
        let client = try await signedIn(providers)
        let transport = try #require(client.configuration.transport as? FakeTransport)
        credentials.say(state)
        await monitor(client).check()
        #expect(credentials.questions == ["apple-ada"])
        #expect(await client.session.state.user != nil)
        #expect(await transport.requests.dropFirst().map(\.line) == (isVerified ? ["GET /v1/auth/me"] : []))
    }

    @Test("Simulators report each consent as revoked, which has no effect")
    func simulator() async throws {
        let client = try await signedIn(then: [.problem(.tokenExpired), .problem(.invalidRefreshToken)])
        let transport = try #require(client.configuration.transport as? FakeTransport)
        credentials.say(.revoked)
        await monitor(client, isSimulator: true).check()
        #expect(credentials.questions == ["apple-ada"])
        #expect(await client.session.state.user != nil)
        #expect(await transport.requests.count == 1)
    }

    @Test("A reported revocation that the server did not confirm does not explain a later end")
    func laterEnd() async throws {
        let client = try await signedIn(
            then: [.json(Sample.user), .problem(.tokenExpired), .problem(.invalidRefreshToken)])
        credentials.say(.revoked)
        await monitor(client).check()
        await client.session.check()
        #expect(await client.session.state == .signedOut(reason: .endedByServer))
    }

    @Test("A report during the end of an earlier check explains what its own check finds")
    func overlapping() async throws {
        let client = try await signedIn(then: [.problem(.tokenExpired), .problem(.invalidRefreshToken)])
        let session = client.session
        connectivity.beginOffline {
            // Begins after the first check, and before the caller of that check goes on.
            session.assumeIsolated { session in
                _ = Task { await session.checkAfterAppleRevocation() }
            }
        }
        await session.checkAfterAppleRevocation()
        try await until("signed out") { await session.state.user == nil }
        #expect(await session.state == .signedOut(reason: .appleCredentialRevoked))
    }

    @Test(
        "The server decides where the device reports no consent",
        arguments: [
            (.notFound, [.json(Sample.user)], nil),
            (.notFound, [.failure(.timedOut), .failure(.timedOut), .failure(.timedOut)], nil),
            (.notFound, [.problem(.tokenExpired), .problem(.invalidRefreshToken)], .endedByServer),
            (.revoked, [.json(Sample.user)], nil),
            (.revoked, [.failure(.timedOut), .failure(.timedOut), .failure(.timedOut)], nil),
            (.revoked, [.problem(.tokenExpired), .problem(.invalidRefreshToken)], .appleCredentialRevoked),
        ] as [(AppleCredentialState, [FakeTransport.Reply], SignOutReason?)])
    func noConsent(state: AppleCredentialState, replies: [FakeTransport.Reply], reason: SignOutReason?) async throws {
        let client = try await signedIn(then: replies)
        let transport = try #require(client.configuration.transport as? FakeTransport)
        credentials.say(state)
        await monitor(client).check()
        #expect(await transport.requests.dropFirst().first?.line == "GET /v1/auth/me")
        #expect(await transport.requests.count == 1 + replies.count)
        if let reason {
            #expect(await client.session.state == .signedOut(reason: reason))
        } else {
            #expect(await client.session.state.user != nil)
        }
    }

    @Test("At launch, and when the system says that something was taken back")
    func follows() async throws {
        let client = try await signedIn(then: [.problem(.tokenExpired), .problem(.invalidRefreshToken)])
        await client.session.add(monitor(client))
        try await until("looked at") { credentials.questions.count == 1 }
        try await until("listening") { credentials.listening == 1 }
        #expect(await client.session.state.user != nil)
        credentials.revoke()
        try await until("signed out") { await client.session.state == .signedOut(reason: .appleCredentialRevoked) }
        try await until("listening no more") { credentials.listening == 0 }
    }

    @Test("The monitor does not ask about a user who signed in with a password")
    func password() async throws {
        let client = try await signedIn([.password], appleUserID: nil)
        credentials.say(.revoked)
        await monitor(client).check()
        #expect(credentials.questions.isEmpty)
        #expect(await client.session.state.user != nil)
    }

    @Test("The monitor does not keep its session")
    func released() async throws {
        var client: GatehouseClient? = try await signedIn()
        weak let session = client?.session
        await client?.session.add(monitor(try #require(client)))
        try await until("checked") { credentials.questions.count == 1 }
        client = nil
        try await until("released") { session == nil }
    }
}
