import Foundation
import GatehouseContracts
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct SignInTests {
    private let transport = FakeTransport()
    private let telemetry = EventLog()
    private let store = InMemoryTokenStore()

    private func client() throws -> GatehouseClient {
        try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: store, transport: transport,
                telemetry: telemetry, clock: ManualClock(), device: SessionDevice(name: "phone")))
    }

    @Test func withAPassword() async throws {
        let client = try client()
        await transport.then(.json(Sample.auth("first")))
        let user = try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        #expect(user == Sample.user)
        #expect(await client.session.state == .signedIn(user))
        #expect(await store.load() != nil)
        let request = await transport.requests.first
        #expect(request?.line == "POST /v1/auth/login")
        #expect(
            request?.json
                == #"{"device":{"name":"phone"},"identifier":"ada@example.com","password":"correct horse"}"#)
        #expect(request?.bearer == nil)
        #expect(telemetry.events == [TelemetryEvent(.loginSuccess, reason: "password", latency: .zero)])
    }

    /// The app offers to merge the accounts. What a sign-in told is over with the next one, and with the merge.
    @Test func aConflictIsKnownUntilTheAccountsAreMerged() async throws {
        let client = try client()
        var conflicting = Sample.auth("first")
        conflicting.conflictingIdentifiers = [.email]
        await transport.then(.json(conflicting))
        let user = try await client.signIn(with: AppleCredential(identityToken: "a.b.c"))
        #expect(client.conflictingIdentifiers(of: user) == [.email])
        var other = Sample.user
        other.id = UUID()
        #expect(client.conflictingIdentifiers(of: other) == [])

        await transport.then(.status(204), .json(Sample.auth("second")))
        try await client.signOut()
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        #expect(client.conflictingIdentifiers(of: user) == [])

        await transport.then(.status(204), .json(conflicting), .json(MergeResponse(user: user)))
        try await client.signOut()
        try await client.signIn(with: AppleCredential(identityToken: "a.b.c"))
        #expect(client.conflictingIdentifiers(of: user) == [.email])
        try await client.merge(with: .code("012345", identifier: "ada@example.com"))
        #expect(client.conflictingIdentifiers(of: user) == [])
    }

    @Test func aFailedDialogOfAppleIsAFailedSignIn() async throws {
        let client = try client()
        let failed = GatehouseError(.invalidAppleToken, reason: "ASAuthorizationError 1004")
        for error in [failed, GatehouseError(.invalidAppleToken), GatehouseError(.cancelled)] {
            await #expect(throws: error) { try await client.signIn(withApple: .failure(error)) }
        }
        #expect(
            telemetry.events == [
                TelemetryEvent(.loginFailure, reason: "ASAuthorizationError 1004"),
                TelemetryEvent(.loginFailure, reason: "invalidAppleToken"),
            ])
        await transport.then(.json(Sample.auth("first")))
        #expect(
            try await client.signIn(withApple: .success(AppleCredential(identityToken: "a.b.c"))) == Sample.user)
    }

    /// It outlives the session, and the process.
    @Test func theDeviceIsKnownAtTheNextSignIn() async throws {
        var (first, second) = (Sample.auth("first"), Sample.auth("second"))
        (first.deviceToken, second.deviceToken) = ("ghdt_1", "ghdt_2")
        let signedIn = try client()
        await transport.then(.json(first))
        try await signedIn.signIn(identifier: "ada@example.com", password: "correct horse")
        await transport.then(.status(204))
        try await signedIn.signOut()
        let next = try client()
        await transport.then(.json(second), .json(Sample.auth("third")))
        try await next.signIn(identifier: "ada@example.com", password: "correct horse")
        try await next.signIn(identifier: "ada@example.com", password: "correct horse")
        let presented = await transport.requests.filter { $0.line == "POST /v1/auth/login" }.map { request in
            request.httpBody.flatMap { try? ClientJSON.decode(LoginRequest.self, from: $0) }?.device
        }
        #expect(presented.map { $0?.deviceToken } == [nil, "ghdt_1", "ghdt_2"])
        #expect(presented.allSatisfy { $0?.name == "phone" })
        // The last answer had none: an older server's.
        #expect(try StoredState(data: try #require(await store.load())).deviceToken?.value == "ghdt_2")
    }

    @Test func asANewUser() async throws {
        let client = try client()
        await transport.then(.json(Sample.auth("first"), status: 201))
        try await client.register(identifier: "ada@example.com", password: "correct horse", displayName: "Ada")
        let request = await transport.requests.first
        #expect(request?.line == "POST /v1/auth/register")
        #expect(request?.json?.contains(#""displayName":"Ada""#) == true)
        #expect(telemetry.events.map(\.reason) == ["register"])
    }

    @Test func withApple() async throws {
        let client = try client()
        await transport.then(.json(AppleNonceResponse(nonce: "ghn_1", expiresIn: 600)), .json(Sample.auth("first")))
        let nonce = try await client.appleNonce()
        #expect(nonce.value == "ghn_1")
        var name = PersonNameComponents()
        name.givenName = "Ada"
        name.familyName = "Lovelace"
        let token = "e30.\(Data(#"{"sub":"001.apple"}"#.utf8).base64EncodedString()).sig"
        try await client.signIn(
            with: AppleCredential(identityToken: token, authorizationCode: "code", nonce: nonce, fullName: name))
        let requests = await transport.requests
        #expect(requests.map(\.line) == ["POST /v1/auth/apple/nonce", "POST /v1/auth/apple"])
        let sent = try ClientJSON.decode(AppleSignInRequest.self, from: try #require(requests.last?.httpBody))
        #expect(sent.identityToken == token)
        #expect(sent.authorizationCode == "code")
        #expect(sent.nonce == "ghn_1")
        #expect(sent.fullName?.givenName == "Ada")
        #expect(sent.fullName?.familyName == "Lovelace")
        #expect(sent.device?.name == "phone")
        let stored = try StoredState(data: try #require(await store.load()))
        #expect(stored.session?.appleUserID == "001.apple")
    }

    @Test(arguments: [ErrorCode.invalidCredentials, .accountDisabled, .rateLimited])
    func aFailureIsToldWithItsReason(code: ErrorCode) async throws {
        let client = try client()
        await transport.then(.problem(code, headers: ["Retry-After": "60"]))
        await #expect { try await client.signIn(identifier: "a", password: "b") } throws: {
            ($0 as? GatehouseError)?.code == code.rawValue
        }
        #expect(telemetry.events.map(\.name) == [.loginFailure])
        #expect(telemetry.events.first?.reason?.isEmpty == false)
        #expect(telemetry.events.first?.latency != nil)
        #expect(await client.session.state.user == nil)
    }

    @Test func aPasswordIsSentOnce() async throws {
        let client = try client()
        await transport.then(.failure(.networkConnectionLost))
        await #expect(throws: GatehouseError.self) { try await client.signIn(identifier: "a", password: "b") }
        #expect(await transport.requests.count == 1)
        #expect(telemetry.events.first?.reason == "unavailable")
    }

    @Test func cancellationIsNoFailure() async throws {
        let client = try client()
        await transport.then(.failure(.cancelled))
        await #expect { try await client.signIn(identifier: "a", password: "b") } throws: {
            ($0 as? GatehouseError)?.kind == .cancelled
        }
        #expect(telemetry.events.isEmpty)
    }

    @Test func signingOut() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.status(204))
        try await signedIn.client.signOut()
        #expect(await signedIn.client.session.state == .signedOut(reason: .user))
        #expect(await signedIn.requests.map(\.json) == [#"{"refreshToken":"refresh-first"}"#])
    }

    @Test(arguments: [false, true])
    func signingOutEverywhere(exceptThisDevice: Bool) async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.status(204), .status(204))
        try await signedIn.client.signOutEverywhere(exceptThisDevice: exceptThisDevice)
        let requests = await signedIn.requests
        #expect(requests.first?.line == "POST /v1/auth/logout-all")
        #expect(requests.first?.json == #"{"exceptCurrent":true}"#)
        #expect(requests.dropFirst().map(\.line) == (exceptThisDevice ? [] : ["POST /v1/auth/logout"]))
        #expect((await signedIn.client.session.state.user != nil) == exceptThisDevice)
    }

    @Test func aFailureToEndTheOthersKeepsTheSession() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.problem(.unavailable, headers: ["Retry-After": "60"]))
        await #expect(throws: GatehouseError.self) { try await signedIn.client.signOutEverywhere() }
        #expect(await signedIn.client.session.state.user != nil)
    }
}
