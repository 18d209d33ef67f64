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

    private let credentials = FakeCredentials()

    /// A session that began with Apple, of a user who has these ways to sign in.
    private func signedIn(
        _ providers: [AuthProvider] = [.apple], appleUserID: String? = "apple-ada",
        then replies: [FakeTransport.Reply] = [.status(204)]
    ) async throws -> GatehouseClient {
        var response = Sample.auth("first")
        response.user.authProviders = providers
        let transport = FakeTransport(.json(response))
        await transport.then(replies)
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
                transport: transport, clock: ManualClock()))
        try await client.session.begin(
            client.api.call("POST", "/v1/auth/apple", returning: AuthResponse.self), appleUserID: appleUserID)
        return client
    }

    private func monitor(_ client: GatehouseClient) -> AppleCredentialMonitor {
        AppleCredentialMonitor(session: client.session, credentials: credentials)
    }

    @Test(
        "The session's response to each state of the consent",
        arguments: [
            (.authorized, [.apple], true), (.transferred, [.apple], true), (nil, [.apple], true),
            (.revoked, [.apple], false), (.revoked, [.apple, .password], false),
            (.notFound, [.apple], true), (.notFound, [.apple, .password], true),
        ] as [(AppleCredentialState?, [AuthProvider], Bool)])
    func answers(state: AppleCredentialState?, providers: [AuthProvider], stays: Bool) async throws {
        let client = try await signedIn(providers)
        credentials.say(state)
        await monitor(client).check()
        #expect(credentials.questions == ["apple-ada"])
        if stays {
            #expect(await client.session.state.user != nil)
        } else {
            #expect(await client.session.state == .signedOut(reason: .appleCredentialRevoked))
        }
    }

    @Test(
        "Where the device knows nothing of the user, the server is asked",
        arguments: [
            ([.json(Sample.user)], nil), ([.failure(.timedOut), .failure(.timedOut), .failure(.timedOut)], nil),
            ([.problem(.tokenExpired), .problem(.invalidRefreshToken)], .endedByServer),
        ] as [([FakeTransport.Reply], SignOutReason?)])
    func notFound(replies: [FakeTransport.Reply], reason: SignOutReason?) async throws {
        let client = try await signedIn(then: replies)
        let transport = try #require(client.configuration.transport as? FakeTransport)
        credentials.say(.notFound)
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
        let client = try await signedIn()
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
