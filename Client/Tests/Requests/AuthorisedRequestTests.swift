import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct AuthorisedRequestTests {
    @Test func theBearerIsTheSessionsWhateverTheAppHadSet() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.text("mine", mediaType: "text/plain"))
        var request = try signedIn.request()
        request.setValue("Basic abc", forHTTPHeaderField: "Authorization")
        let (body, response) = try await signedIn.client.data(for: request)
        #expect(body == Data("mine".utf8))
        #expect(response.statusCode == 200)
        #expect(await signedIn.requests.map(\.bearer) == ["Bearer access-first"])
    }

    @Test func whateverTheStatusItIsAnAnswer() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.status(404), .status(500), .status(403))
        for status in [404, 500, 403] {
            #expect(try await signedIn.client.data(for: signedIn.request()).1.statusCode == status)
        }
    }

    @Test(arguments: [
        FakeTransport.Reply.refusedBearer, .problem(.tokenExpired), .problem(.invalidToken),
        .status(401, ["WWW-Authenticate": "bearer"]),
        .status(401, ["WWW-Authenticate": "Basic realm=\"a, b\", Bearer realm=\"c\""]),
    ])
    func aRefusedBearerIsRenewedAndTheRequestReplayedOnce(refusal: FakeTransport.Reply) async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(refusal, .json(Sample.auth("second")), .text("done"))
        let (body, _) = try await signedIn.client.data(for: signedIn.request(method: "POST"))
        #expect(body == Data("done".utf8))
        let requests = await signedIn.requests
        #expect(requests.map(\.line) == ["POST /v1/orders", "POST /v1/auth/refresh", "POST /v1/orders"])
        #expect(requests.last?.bearer == "Bearer access-second")
        #expect(signedIn.telemetry.events.map(\.name).suffix(1) == [.replay])
    }

    @Test func asecondRefusalIsTheAnswer() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.refusedBearer, .json(Sample.auth("second")), .refusedBearer)
        let (_, response) = try await signedIn.client.data(for: signedIn.request())
        #expect(response.statusCode == 401)
        #expect(await signedIn.requests.count == 3)
    }

    @Test func a401ThatIsNotAboutTheBearerIsTheAnswer() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.problem(.invalidCredentials))
        let (_, response) = try await signedIn.client.data(for: signedIn.request())
        #expect(response.statusCode == 401)
        #expect(await signedIn.requests.count == 1)
    }

    @Test(
        "A 401 that says nothing of the bearer is the service's own, and costs no rotation",
        arguments: [
            FakeTransport.Reply.status(401), .status(401, ["WWW-Authenticate": "Basic realm=\"printers\""]),
            .status(401, ["WWW-Authenticate": "Bearers"]), .status(401, ["WWW-Authenticate": "Basic realm=\"Bearer\""]),
        ])
    func plain401(refusal: FakeTransport.Reply) async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(refusal, refusal)
        #expect(try await signedIn.client.data(for: signedIn.request()).1.statusCode == 401)
        // The client does not ask a user to sign in who is signed in.
        let error = await #expect(throws: GatehouseError.self) {
            try await signedIn.client.send(GatehouseEndpoint<Data>("GET", "/v1/orders"))
        }
        #expect(error?.kind == .forbidden)
        #expect(await signedIn.requests.map(\.line) == ["GET /v1/orders", "GET /v1/orders"])
    }

    @Test(
        "Of another server, which a redirection led to, no refusal is one of the bearer",
        arguments: [FakeTransport.Reply.refusedBearer, .problem(.invalidToken)])
    func elsewhere(refusal: FakeTransport.Reply) async throws {
        let signedIn = try await SignedIn(bearerHosts: ["files.example.com"])
        var foreign = refusal
        foreign.url = URL(string: "https://cdn.example.net/a")
        var ours = refusal
        ours.url = URL(string: "https://files.example.com/a")
        await signedIn.transport.then(foreign, ours, .json(Sample.auth("second")), .text("done"))
        #expect(try await signedIn.client.data(for: signedIn.request()).1.statusCode == 401)
        #expect(try await signedIn.client.data(for: signedIn.request()).1.statusCode == 200)
        #expect(await signedIn.requests.count == 4)
    }

    @Test func theSessionHasEndedElsewhere() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.refusedBearer, .problem(.invalidRefreshToken))
        await #expect { try await signedIn.client.data(for: signedIn.request()) } throws: {
            ($0 as? GatehouseError)?.kind == .sessionEnded
        }
        #expect(await signedIn.client.session.state == .signedOut(reason: .endedByServer))
    }

    @Test func temporaryFailuresAreRetried() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.failure(.networkConnectionLost), .status(503), .text("there"))
        let (body, _) = try await signedIn.client.data(for: signedIn.request())
        #expect(body == Data("there".utf8))
        #expect(await signedIn.requests.count == 3)
    }

    @Test func requestsThatAreNotIdempotentAreSentOnce() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.failure(.networkConnectionLost), .status(503))
        await #expect { try await signedIn.client.data(for: signedIn.request(method: "POST")) } throws: {
            ($0 as? GatehouseError)?.kind == .unavailable
        }
        let (_, response) = try await signedIn.client.data(for: signedIn.request(method: "PATCH"))
        #expect(response.statusCode == 503)
        #expect(await signedIn.requests.count == 2)
    }

    @Test func aPauseThatIsTooLongIsLeftToTheApp() async throws {
        let signedIn = try await SignedIn()
        let before = signedIn.clock.monotonic
        await signedIn.transport.then(.status(429, ["Retry-After": "30"]))
        let (_, response) = try await signedIn.client.data(for: signedIn.request())
        #expect(response.statusCode == 429)
        #expect(response.retryAfter == .seconds(30))
        #expect(signedIn.clock.monotonic == before)
    }

    @Test func theServersPauseIsKept() async throws {
        let signedIn = try await SignedIn()
        let before = signedIn.clock.monotonic
        await signedIn.transport.then(.status(503, ["Retry-After": "1"]), .status(204))
        _ = try await signedIn.client.data(for: signedIn.request())
        #expect((.seconds(1)...Duration.seconds(2)).contains(signedIn.clock.monotonic - before))
    }

    @Test(arguments: [
        "https://evil.example.com/", "http://api.example.com/", "https://api.example.com@evil.com/", "https:///a",
    ])
    func noOtherServerIsAsked(address: String) async throws {
        let signedIn = try await SignedIn(bearerHosts: ["files.example.com"])
        let request = URLRequest(url: try #require(URL(string: address)))
        await #expect { try await signedIn.client.data(for: request) } throws: {
            ($0 as? GatehouseError)?.kind == .misuse
        }
        #expect(await signedIn.requests.isEmpty)
    }

    @Test func anotherHostOfTheTeamsIs() async throws {
        let signedIn = try await SignedIn(bearerHosts: ["files.example.com"])
        await signedIn.transport.then(.status(204))
        let request = URLRequest(url: try #require(URL(string: "https://files.example.com/a")))
        _ = try await signedIn.client.data(for: request)
        #expect(await signedIn.requests.first?.bearer == "Bearer access-first")
    }

    @Test func withoutANetworkNothingIsTried() async throws {
        let transport = FakeTransport()
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
                transport: transport, connectivity: FixedConnectivity(isOnline: false)))
        let request = URLRequest(url: try #require(URL(string: "https://api.example.com/a")))
        await #expect { try await client.data(for: request) } throws: { ($0 as? GatehouseError)?.retry == .whenOnline }
        #expect(await transport.requests.isEmpty)
    }

    @Test func withNobodySignedIn() async throws {
        let transport = FakeTransport()
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
                transport: transport))
        let request = URLRequest(url: try #require(URL(string: "https://api.example.com/a")))
        await #expect { try await client.data(for: request) } throws: { ($0 as? GatehouseError)?.kind == .signedOut }
        #expect(await transport.requests.isEmpty)
    }

    @Test func aStreamIsNeitherRepeatedNorReplayed() async throws {
        let signedIn = try await SignedIn()
        var request = try signedIn.request(method: "PUT")
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        await signedIn.transport.then(.status(503), .refusedBearer)
        #expect(try await signedIn.client.data(for: request).1.statusCode == 503)
        #expect(try await signedIn.client.data(for: request).1.statusCode == 401)
        #expect(await signedIn.requests.count == 2)
    }

    @Test func aCancelledTaskIsNoFailure() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.failure(.cancelled))
        await #expect { try await signedIn.client.data(for: signedIn.request()) } throws: {
            ($0 as? GatehouseError)?.kind == .cancelled && ($0 as? GatehouseError)?.retry == .never
        }
        #expect(await signedIn.requests.count == 1)
    }

    /// Over real sockets: the first response is cut off.
    @Test func aResponseThatWasCutIsAskedForAgain() async throws {
        let login = String(decoding: try ClientJSON.encode(Sample.auth("first")), as: UTF8.self)
        let isFirst = Mutex(true)
        let server = try LoopbackServer { request in
            if request.line.hasPrefix("POST /v1/auth/login") { return .status("200 OK", body: login) }
            let cut = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            return cut ? .pieces(["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwh"]) : .status("200 OK", body: "whole")
        }
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: server.url)), store: InMemoryTokenStore(), clock: ManualClock()))
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        let (body, _) = try await client.data(for: URLRequest(url: try #require(URL(string: server.url + "/a"))))
        #expect(body == Data("whole".utf8))
        #expect(
            server.requests.map { $0.field("authorization") } == [nil, "Bearer access-first", "Bearer access-first"])
    }
}
