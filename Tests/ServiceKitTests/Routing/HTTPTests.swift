import Foundation
import GatehouseObservability
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import TestKit
import Testing

@Suite struct HTTPTests {
    private func withEcho(_ body: @Sendable (TestHTTPClient) async throws -> Void) async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            try await body(TestHTTPClient(service.url))
        }
    }

    @Test func answersUnderBothBasePaths() async throws {
        try await withEcho { client in
            for path in ["/v1/echo", "/api/v1/echo"] {
                let response = try await client.post(path, text: #"{"text":"a","count":null,"other":{"x":1.5}}"#)
                #expect(response.status == 201)
                #expect(response.text == #"{"text":"a"}"#)
                #expect(response.header("Content-Type") == "application/json")
                #expect(response.header("Cache-Control") == "no-store")
                #expect(RequestID.isValid((response.header("X-Request-Id") ?? "").utf8))
                #expect(response.header("Date")?.hasSuffix("GMT") == true)
            }
        }
    }

    @Test func tellsUnknownPathFromWrongMethod() async throws {
        try await withEcho { client in
            for path in ["/", "/v1", "/v2/echo", "/v1/echo/", "//v1/echo", "/v1//echo", "/api/v2/echo", "/v1/echo/1/2"]
            {
                let response = try await client.get(path)
                #expect(response.status == 404, "\(path)")
                #expect(try response.problem().code == "NOT_FOUND")
            }
            let response = try await client.get("/v1/echo")
            #expect(response.status == 405)
            #expect(response.header("Allow") == "POST")
            #expect(try response.problem().code == "METHOD_NOT_ALLOWED")
            // What NIO's parser does not know as a method never reaches a route.
            #expect(try await client.send("ANY-METHOD", "/v1/echo").status == 400)
            #expect(try await client.send("PUT", "/v1/echo/\(UUID())").status == 405)
        }
    }

    @Test func writesProblems() async throws {
        try await withEcho { client in
            let response = try await client.get("/v1/fail", headers: ["X-Request-Id": "my-id_1"])
            #expect(response.status == 500)
            #expect(response.header("Content-Type") == "application/problem+json")
            #expect(response.header("X-Request-Id") == "my-id_1")
            #expect(!response.text.contains("Unforeseen"))
            let problem = try response.problem()
            #expect(problem.code == "INTERNAL")
            #expect(problem.requestId == "my-id_1")
            #expect(problem.status == 500)
            let away = try await client.get("/v1/away")
            #expect(away.status == 503)
            #expect(away.header("Retry-After") == "7")
        }
    }

    @Test func refusesBodies() async throws {
        try await withEcho { client in
            let json = ["Content-Type": "application/json"]
            #expect(try await client.post("/v1/echo", text: "{", headers: json).status == 400)
            #expect(
                try await client.post("/v1/echo", text: #"{"text":"a"}"#, headers: ["Content-Type": "text/plain"])
                    .status == 415)
            #expect(
                try await client.post(
                    "/v1/echo", text: #"{"text":"a"}"#, headers: ["Content-Type": "application/json; charset=latin1"]
                ).status == 415)
            #expect(
                try await client.post(
                    "/v1/echo", text: #"{"text":"a"}"#, headers: ["Content-Type": "application/JSON ; charset=UTF-8"]
                ).status == 201)
            let missing = try await client.post("/v1/echo")
            #expect(missing.status == 400)
            #expect(try missing.problem().errors == [.init(field: "text", message: "This is missing.")])
            let wrong = try await client.post("/v1/echo", text: #"{"text":1}"#)
            #expect(try wrong.problem().errors == [.init(field: "text", message: "This must be a text.")])
            let large = try await client.post(
                "/v1/echo", text: #"{"text":""# + String(repeating: "a", count: 70_000) + #""}"#)
            #expect(large.status == 413)
            #expect(try large.problem().code == "PAYLOAD_TOO_LARGE")
        }
    }

    @Test func trustsIdentityOnlyWithTheGatewaysCredential() async throws {
        try await withEcho { client in
            let user = UUID()
            var headers = [
                "Gatehouse-User-Id": user.uuidString.lowercased(), "Gatehouse-Session-Id": UUID().uuidString,
                "Gatehouse-Store-Ids": "a%2Cb,c",
            ]
            let anonymous = try await client.get("/v1/me", headers: headers)
            #expect(anonymous.status == 401)
            #expect(try anonymous.problem().code == "INVALID_TOKEN")
            #expect(anonymous.header("WWW-Authenticate") == #"Bearer error="invalid_token""#)
            headers["Gatehouse-Credential"] = "dev-identity-one"
            #expect(try await client.get("/v1/me", headers: headers).status == 401)
            headers["Gatehouse-Credential"] = "dev-gateway-echo"
            let known = try await client.get("/v1/me", headers: headers)
            #expect(known.status == 200)
            let seen = try await client.get("/v1/seen", headers: headers).decode(EchoApplication.Seen.self)
            #expect(seen.userID == user)
            #expect(seen.stores == ["a,b", "c"])
            #expect(seen.caller == "gateway")
        }
    }

    @Test func opensInternalRoutesToTheirCallersAlone() async throws {
        try await withEcho { client in
            let expected: [(credential: String?, status: Int)] = [
                (nil, 403), ("dev-identity-on", 403), ("dev-gateway-echo", 403), ("dev-identity-one", 200),
                ("dev-identity-two", 200),
            ]
            for (credential, status) in expected {
                let headers = credential.map { ["Gatehouse-Credential": $0] } ?? [:]
                let response = try await client.post("/internal/things", headers: headers)
                #expect(response.status == status, "\(credential ?? "none")")
            }
        }
    }

    @Test func tellsWhatTheGatewayFoundWrongWithTheBearer() async throws {
        try await withEcho { client in
            let response = try await client.get(
                "/v1/me",
                headers: ["Gatehouse-Credential": "dev-gateway-echo", "Gatehouse-Bearer-Error": "TOKEN_EXPIRED"])
            #expect(response.status == 401)
            #expect(try response.problem().code == "TOKEN_EXPIRED")
            #expect(response.header("WWW-Authenticate")?.contains(#"error="invalid_token""#) == true)
        }
    }

    @Test func keepsDeadlines() async throws {
        try await withEcho { client in
            func milliseconds(_ field: String?, _ credential: String?) async throws -> Int64 {
                var headers: [String: String] = [:]
                headers["Gatehouse-Deadline-Ms"] = field
                headers["Gatehouse-Credential"] = credential
                return try await client.get("/v1/seen", headers: headers)
                    .decode(EchoApplication.Seen.self).milliseconds
            }
            let known = "dev-identity-one"
            let usual: ClosedRange<Int64> = 5000...10_000
            let unset = try await milliseconds(nil, nil)
            #expect(usual.contains(unset))
            let short = try await milliseconds("3000", nil)
            #expect((1...3000).contains(short))
            let long = try await milliseconds("30000", known)
            #expect((20_000...30_000).contains(long))
            let unknownLong = try await milliseconds("30000", nil)
            #expect(usual.contains(unknownLong))
            let endless = try await milliseconds("99999999999", known)
            #expect((30_000...60_000).contains(endless))
            let junk = try await milliseconds("soon", known)
            #expect(usual.contains(junk))
            let passed = try await client.get("/v1/seen", headers: ["Gatehouse-Deadline-Ms": "0"])
            #expect(passed.status == 503)
            #expect(try passed.problem().code == "UNAVAILABLE")
        }
    }

    @Test func countsWhatCameTooLateUnderItsRoute() async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            let client = TestHTTPClient(service.url)
            let late = ["Gatehouse-Deadline-Ms": "0"]
            // No other test is late with these.
            for path in ["/v1/away", "/v1/away", "/v1/nowhere"] {
                #expect(try await client.get(path, headers: late).status == 503)
            }
            #expect(try await client.send("PUT", "/v1/away", headers: late).status == 503)
            let metrics = try await TestHTTPClient(service.adminURL).get("/metrics").text
            let pattern = /http_server_requests_total{method="GET",route="\/v1\/away",status="503"} (\d+)/
            let count = try #require(Int(metrics.firstMatch(of: pattern)?.1 ?? ""))
            #expect(count >= 2, "the service's own refusals are counted there too")
        }
    }

    @Test func countsFailuresFromTheStart() async throws {
        try await withEcho { _ in
            let text = Telemetry.metrics.exposition()
            for status in [500, 503] {
                let labels = #"method="POST",route="/oauth/form",status="\#(status)""#
                #expect(text.contains("http_server_requests_total{\(labels)} 0\n"))
            }
            #expect(text.contains(#"gatehouse_build_info{version="\#(GatehouseVersion.number)",revision=""#))
        }
    }

    @Test func tellsSinceWhenARequestWaits() async throws {
        try await withEcho { client in
            func age(_ headers: [String: String]) async throws -> Int64 {
                try await client.get("/v1/seen", headers: headers).decode(EchoApplication.Seen.self).age
            }
            let waited = ["Gatehouse-Waited-Ms": "40000"]
            let fresh = try await age(waited)
            #expect(fresh < 30_000, "a stranger's word")
            let known = try await age(waited.merging(["Gatehouse-Credential": "dev-gateway-echo"]) { $1 })
            #expect((40_000..<70_000).contains(known))
            let junk = try await age(["Gatehouse-Waited-Ms": "-40000", "Gatehouse-Credential": "dev-gateway-echo"])
            #expect((0..<30_000).contains(junk))
        }
    }

    @Test func continuesTracesAndRequestIDs() async throws {
        try await withEcho { client in
            func seen(_ headers: [String: String]) async throws -> EchoApplication.Seen {
                try await client.get("/v1/seen", headers: headers).decode(EchoApplication.Seen.self)
            }
            let trace = TraceContext(isSampled: true)
            let continued = try await seen(["traceparent": trace.traceparent, "X-Request-Id": "mine"])
            // Without a credential the caller does not decide for the services below this one.
            #expect(!continued.isSampled)
            #expect(continued.traceID == trace.traceID)
            #expect(continued.requestID == "mine")
            #expect(continued.address == "127.0.0.1")
            let fresh = try await seen([
                "traceparent": "junk", "X-Request-Id": "not allowed", "Gatehouse-Request-Id": "x",
            ])
            #expect(fresh.requestID != "not allowed" && fresh.requestID != "x")
            let between = try await seen([
                "Gatehouse-Request-Id": "x", "Gatehouse-Credential": "dev-gateway-echo",
                "Gatehouse-Client-Address": "203.0.113.7", "traceparent": trace.traceparent,
            ])
            #expect(between.requestID == "x" && between.isSampled)
            #expect(between.address == "203.0.113.7")
        }
    }

    @Test func readsForms() async throws {
        try await withEcho { client in
            let form = ["Content-Type": "application/x-www-form-urlencoded"]
            let good = try await client.post("/oauth/form", text: "a=1&b=x+y", headers: form)
            #expect(good.text == #"{"a":"1","b":"x y"}"#)
            #expect(try await client.post("/oauth/form", text: "a=1&a=2", headers: form).status == 400)
            #expect(try await client.post("/oauth/form", text: "{}").status == 415)
        }
    }
}
