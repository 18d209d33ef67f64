import Foundation
import Testing

@testable import GatehouseClient

@Suite("Authenticating once more")
struct ReauthenticationTests {
    private static let asked = FakeTransport.Reply.problem(.reauthenticationRequired)

    @Test("The proof is sent, and the bearer renewed at once, though it still serves")
    func renewsTheBearer() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(
            .status(204), .json(Sample.auth("second")), .status(204), .json(Sample.auth("third")), .json(Sample.user))
        try await signedIn.client.reauthenticate(with: .password("correct horse"))
        try await signedIn.client.reauthenticate(
            with: .apple(AppleCredential(identityToken: "token", nonce: AppleNonce("nonce"))))
        _ = try await signedIn.client.me()
        let requests = await signedIn.requests
        #expect(
            requests.map(\.line) == [
                "POST /v1/auth/reauthenticate", "POST /v1/auth/refresh", "POST /v1/auth/reauthenticate",
                "POST /v1/auth/refresh", "GET /v1/auth/me",
            ])
        #expect(requests[0].json == #"{"password":"correct horse"}"#)
        #expect(requests[2].json == #"{"identityToken":"token","nonce":"nonce"}"#)
        #expect(requests[0].bearer == "Bearer access-first" && requests[2].bearer == "Bearer access-second")
        #expect(requests[4].bearer == "Bearer access-third")
    }

    @Test("A wrong proof renews nothing and ends nothing")
    func wrongProof() async throws {
        let signedIn = try await SignedIn()
        for (code, kind) in [
            (ErrorCode.invalidCredentials, GatehouseError.Kind.invalidCredentials),
            (.invalidAppleToken, .invalidAppleToken), (.accountDisabled, .accountDisabled),
        ] {
            await signedIn.transport.then(.problem(code))
            await #expect {
                try await signedIn.client.reauthenticate(with: .password("wrong"))
            } throws: {
                ($0 as? GatehouseError)?.kind == kind
            }
        }
        #expect(await signedIn.requests.map(\.line) == Array(repeating: "POST /v1/auth/reauthenticate", count: 3))
        #expect(await signedIn.client.session.state == .signedIn(Sample.user))
    }

    @Test("A call that needs a proof is made again with one, and the user is asked once")
    func repeatsTheCall() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(
            Self.asked, .status(204), .json(Sample.auth("second")), .json(Sample.user))
        signedIn.client.setReauthenticationHandler { user in
            #expect(user == Sample.user)
            return .password("correct horse")
        }
        #expect(try await signedIn.client.unlink(.apple) == Sample.user)
        let requests = await signedIn.requests
        #expect(
            requests.map(\.line) == [
                "DELETE /v1/auth/identities/apple", "POST /v1/auth/reauthenticate", "POST /v1/auth/refresh",
                "DELETE /v1/auth/identities/apple",
            ])
        #expect(requests.last?.bearer == "Bearer access-second")
    }

    @Test("The client asks the user only where proof is needed, and only once")
    func asksOnlyWhereItHelps() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.json(Sample.user))
        signedIn.client.setReauthenticationHandler { _ in
            Issue.record("the user need not be asked")
            throw CancellationError()
        }
        try await signedIn.client.unlink(.apple)

        signedIn.client.setReauthenticationHandler { _ in .password("p") }
        await signedIn.transport.then(Self.asked, .status(204), .json(Sample.auth("second")), Self.asked)
        await #expect {
            try await signedIn.client.unlink(.apple)
        } throws: {
            ($0 as? GatehouseError)?.kind == .reauthenticationRequired
        }

        await signedIn.transport.then(.problem(.forbidden))
        await #expect {
            try await signedIn.client.unlink(.apple)
        } throws: {
            ($0 as? GatehouseError)?.kind == .forbidden
        }
        #expect(await signedIn.requests.count == 6)
    }

    @Test("A user who declines the authentication changes nothing")
    func refusesToAuthenticate() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(Self.asked)
        signedIn.client.setReauthenticationHandler { _ in throw CancellationError() }
        await #expect {
            try await signedIn.client.deleteAccount()
        } throws: {
            ($0 as? GatehouseError)?.kind == .cancelled
        }
        #expect(await signedIn.requests.map(\.line) == ["DELETE /v1/auth/account"])
        #expect(await signedIn.client.session.state == .signedIn(Sample.user))
    }

    @Test("A call is not repeated for a user who has signed in meanwhile")
    func anotherUser() async throws {
        let signedIn = try await SignedIn()
        var other = Sample.auth("other")
        other.user.id = UUID()
        await signedIn.transport.then(Self.asked, .json(other), .status(204))
        signedIn.client.setReauthenticationHandler { [unowned client = signedIn.client] _ in
            try await client.signIn(identifier: "eve@example.com", password: "correct horse")
            return .password("correct horse")
        }
        await #expect { try await signedIn.client.deleteAccount() } throws: {
            ($0 as? GatehouseError)?.kind == .sessionEnded
        }
        #expect(await signedIn.requests.filter { $0.line == "DELETE /v1/auth/account" }.count == 1)
        #expect(await signedIn.client.session.state == .signedIn(other.user))
    }

    @Test("A service of one's own may ask for a proof too")
    func ofOnesOwn() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(Self.asked, .status(204), .json(Sample.auth("second")), .status(204))
        let pay = GatehouseEndpoint<Void>("POST", "/payments")
        signedIn.client.setReauthenticationHandler { _ in .password("p") }
        try await signedIn.client.send(pay)
        #expect(await signedIn.requests.last?.line == "POST /payments")
        #expect(await signedIn.requests.last?.bearer == "Bearer access-second")
    }

    @Test("Deleting the account asks for the proof that the server demands")
    func deletesTheAccount() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(Self.asked, .status(204), .json(Sample.auth("second")), .status(202))
        signedIn.client.setReauthenticationHandler { _ in .password("p") }
        try await signedIn.client.deleteAccount()
        #expect(await signedIn.client.session.state == .signedOut(reason: .accountDeleted))
    }

    @Test("Without a handler the app gets the server's demand")
    func noHandler() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(Self.asked)
        await #expect { try await signedIn.client.deleteAccount() } throws: {
            ($0 as? GatehouseError)?.kind == .reauthenticationRequired
        }
    }

    @Test("A refresh that was under way does not count: it may have been answered before the proof")
    func refreshUnderWay() async throws {
        let gate = Gate()
        let clock = ManualClock()
        let device = TestDevice(clock: clock, server: FakeGatehouse(clock: clock, gate: gate))
        let client = try await device.signedIn()
        let old = try await client.session.accessToken()
        async let early = client.session.accessToken(after: old)
        await gate.untilSomebodyArrives()
        async let renewed = client.session.renewedAccessToken()
        await gate.open()
        _ = try await (early, renewed)
        #expect(device.server.count("/v1/auth/refresh") == 2)
    }
}
