import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import NIOHTTP1
import Testing

@testable import GatewayService

@Suite("Forwarding")
struct ForwardingTests {
    @Test("A request and its answer pass, with what the gateway has to say")
    func plain() async throws {
        try await GatewayHarness.withGateway { gateway in
            let user = UUID()
            let session = UUID()
            let claims = GatewayHarness.claims(
                role: "courier", stores: ["north", "a,b é"], session: session, user: user)
            let answer = try await gateway.send(
                "GET /team/orders?x=1", fields: "Accept: a/b\r\nX-Request-Id: abc-1\r\n",
                token: try GatewayHarness.token(claims))
            #expect(answer.status == 200 && answer.body == "team")
            #expect(answer["x-request-id"] == "abc-1")
            let request = try #require(gateway.team.requests.first)
            #expect(request.head.uri == "/orders?x=1")
            #expect(request.field("Accept") == "a/b")
            #expect(request.field("Host")?.hasPrefix("127.0.0.1:") == true, "the upstream's own")
            #expect(request.field("X-Forwarded-Host") == "gatehouse.test")
            #expect(request.field("X-Forwarded-For") == "127.0.0.1")
            #expect(request.field("X-Forwarded-Proto") == "http")
            #expect(request.field("Via") == "1.1 gatehouse")
            #expect(request.field("Gatehouse-User-Id") == user.uuidString.lowercased())
            #expect(request.field("Gatehouse-Session-Id") == session.uuidString.lowercased())
            #expect(request.field("Gatehouse-Role") == "courier")
            #expect(request.field("Gatehouse-Store-Ids") == "north,a%2Cb%20%C3%A9")
            #expect(request.field(HeaderName.clientAddress) == "127.0.0.1")
            #expect(request.field(HeaderName.internalRequestID) == "abc-1")
            #expect(request.field(HeaderName.credential) == "team-credential")
            let deadline = try #require(Int(request.field(HeaderName.deadline) ?? ""))
            #expect((1...30_000).contains(deadline))
            #expect(request.field("Authorization") == nil)
            #expect(request.field("traceparent")?.utf8.count == TraceParent.length)
        }
    }

    @Test("A service is told the claims that its route names, as far as the token has them")
    func claims() async throws {
        let options = GatewayHarness.Options {
            $0.routes = { team in
                [
                    Route(
                        name: "/told", pattern: PathPattern("/told", isPrefix: true)!, methods: .all,
                        authentication: .optional, target: .upstream(team), bodyLimit: 0, timeout: .seconds(30),
                        claims: [.email, .clientID, .tokenID, .issuer, .issuedAt, .expiresAt])
                ]
            }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            var claims = GatewayHarness.claims()
            claims.email = "ada+x@exämple.com 100%"
            let forged =
                "Gatehouse-Claim-Email: eve@example.com\r\ngatehouse_claim_email: eve@example.com\r\n"
                + "Gatehouse-Claim-Email-Verified: true\r\n"
            for token in [try GatewayHarness.token(claims), try GatewayHarness.token(), nil] {
                #expect(try await gateway.send("GET /told", fields: forged, token: token).status == 200)
            }
            let requests = gateway.team.requests
            #expect(
                requests.map { $0.head.headers["Gatehouse-Claim-Email"] } == [
                    ["ada+x@ex%C3%A4mple.com%20100%25"], [], [],
                ])
            #expect(requests.map { $0.head.headers["Gatehouse-Claim-Email-Verified"] } == [["false"], [], []])
            claims.isEmailVerified = true
            _ = try await gateway.send("GET /told", token: try GatewayHarness.token(claims))
            #expect(gateway.team.requests.last?.field("Gatehouse-Claim-Email-Verified") == "true")
            let told = try #require(requests.first)
            #expect(told.field("Gatehouse-Claim-Client-Id") == "com.example.app")
            #expect(told.field("Gatehouse-Claim-Jti") == claims.tokenID.uuidString.lowercased())
            #expect(told.field("Gatehouse-Claim-Iss") == "http://gatehouse.test")
            #expect(told.field("Gatehouse-Claim-Iat") == "\(claims.issuedAt)")
            #expect(told.field("Gatehouse-Claim-Exp") == "\(claims.expiresAt)")
            #expect(requests[2].field("Gatehouse-Claim-Client-Id") == nil)
            _ = try await gateway.send("GET /team", token: try GatewayHarness.token(claims))
            #expect(gateway.team.requests.last?.field("Gatehouse-Claim-Email") == nil)
        }
    }

    @Test("No client says where a request came from, nor what the operator adds to that, in heads or trailers")
    func droppedFields() async throws {
        let names = [
            "Client-IP", "X-Forwarded", "Forwarded-For", "X-Cluster-Client-IP", "CF-Connecting-IP", "client_ip",
            "Fastly-Client-IP", "fastly_client_ip",
        ]
        let forged = names.map { "\($0): 1.2.3.4\r\n" }.joined()
        let options = GatewayHarness.Options { $0.settings.droppedFields = [Array("Fastly-Client-IP".utf8)] }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            let fields = forged + "Fastly-Client: kept\r\nTransfer-Encoding: chunked\r\n"
            try await client.send(
                GatewayHarness.request("POST /open", fields: fields) + "1\r\na\r\n0\r\n\(forged)X-Sum: kept\r\n\r\n")
            #expect(try await client.answer().status == 200)
            let request = try #require(gateway.team.requests.first)
            for name in names {
                #expect(request.field(name) == nil, "\(name)")
                #expect(request.trailers?.contains(name: name) != true, "\(name)")
            }
            #expect(request.field("Fastly-Client") == "kept" && request.trailers?["X-Sum"] == ["kept"])
            await client.close()
        }
    }

    @Test("A path's beginning is replaced where the route says so")
    func rewriting() async throws {
        let options = GatewayHarness.Options {
            $0.routes = { team in
                [
                    Route(
                        name: "/old", pattern: PathPattern("/old", isPrefix: true)!, methods: .all,
                        authentication: .none, target: .upstream(team), bodyLimit: 0, timeout: .seconds(30),
                        rewrittenPrefix: "/new/place")
                ]
            }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            for path in ["/old", "/old/", "/old/x?y=/old", "/old/internal/x"] {
                let answer = try await gateway.send("GET \(path)")
                #expect(answer.status == 200)
            }
            #expect(
                gateway.team.requests.map(\.head.uri) == [
                    "/new/place", "/new/place/", "/new/place/x?y=/old", "/new/place/internal/x",
                ])
        }
    }

    @Test("Each upstream receives its own credential")
    func credentials() async throws {
        try await GatewayHarness.withGateway { gateway in
            _ = try await gateway.send("POST /v1/auth/login", body: "{}")
            _ = try await gateway.send("POST /api/v1/auth/refresh", body: "{}")
            #expect(
                gateway.own.requests.map { $0.field(HeaderName.credential) } == [
                    "identity-credential", "tokens-credential",
                ])
            #expect(gateway.own.requests.map(\.head.uri) == ["/v1/auth/login", "/api/v1/auth/refresh"])
        }
    }

    @Test("Authorization goes on where the route says so")
    func authorization() async throws {
        try await GatewayHarness.withGateway { gateway in
            let token = try GatewayHarness.token()
            _ = try await gateway.send("GET /bearer/x", token: token)
            #expect(gateway.team.requests.first?.field("Authorization") == "Bearer \(token)")
        }
    }

    @Test("A trace is continued, a bad one begun anew, and its state goes with it")
    func trace() async throws {
        try await GatewayHarness.withGateway { gateway in
            let trace = "0af7651916cd43dd8448eb211c80319c"
            _ = try await gateway.send(
                "GET /open", fields: "traceparent: 00-\(trace)-b7ad6b7169203331-01\r\ntracestate: a=1\r\n")
            _ = try await gateway.send(
                "GET /open", fields: "traceparent: 00-\(trace.uppercased())-b7ad6b7169203331-01\r\ntracestate: a=1\r\n")
            let fields = gateway.team.requests.map { ($0.field("traceparent") ?? "", $0.field("tracestate")) }
            #expect(fields[0].0.hasPrefix("00-\(trace)-") && !fields[0].0.contains("b7ad6b7169203331"))
            #expect(fields[0].1 == "a=1")
            #expect(!fields[1].0.contains(trace) && fields[1].1 == nil)
        }
    }

    @Test("A connection carries many requests; sent ahead, they are answered in order")
    func pipelining() async throws {
        try await GatewayHarness.withGateway(
            .init { $0.teamBehaviour = { request in RecordingUpstream.answer(request.head.uri)(request) } }
        ) { gateway in
            let client = try await gateway.connect()
            let token = try GatewayHarness.token()
            var text = ""
            for number in 0..<50 {
                switch number % 5 {
                case 0: text += GatewayHarness.request("GET /nowhere/\(number)")
                case 1: text += GatewayHarness.request("POST /team/\(number)", body: "body \(number)", token: token)
                case 2: text += GatewayHarness.request("GET /team/refused")
                default: text += GatewayHarness.request("GET /team/\(number)", token: token)
                }
            }
            try await client.send(text)
            for number in 0..<50 {
                let answer = try await client.answer()
                switch number % 5 {
                case 0: #expect(answer.status == 404)
                case 2: #expect(answer.status == 401)
                default: #expect(answer.body == "/\(number)")
                }
            }
            #expect(gateway.team.connections == 1)
        }
    }

    @Test("A request that comes byte by byte is the same request")
    func crumbs() async throws {
        try await GatewayHarness.withGateway { gateway in
            let client = try await gateway.connect()
            for byte in GatewayHarness.request("POST /open/x", fields: "A: b\r\n", body: "hello").utf8 {
                try await client.send([byte])
            }
            #expect(try await client.answer().status == 200)
            #expect(gateway.team.requests.first?.text == "hello")
        }
    }

    @Test("HEAD has the answer's head alone")
    func head() async throws {
        try await GatewayHarness.withGateway { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("HEAD /open") + GatewayHarness.request("GET /open"))
            let answer = try await client.answer(toHead: true)
            #expect(answer["content-length"] == "4" && answer.body.isEmpty)
            #expect(try await client.answer().body == "team")
        }
    }

    @Test("Health is told without the upstreams")
    func health() async throws {
        try await GatewayHarness.withGateway { (gateway) async throws in
            #expect(try await gateway.send("GET /livez").status == 200)
            #expect(try await gateway.send("GET /readyz").status == 200)
            #expect(try await gateway.send("POST /readyz").status == 405)
        }
        try await GatewayHarness.withGateway(.init { $0.hasFeed = false }) { (gateway) async throws in
            #expect(try await gateway.send("GET /livez").status == 200)
            #expect(try await gateway.send("GET /readyz").status == 503)
        }
    }
}
