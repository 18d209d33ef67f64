import NIOHTTP1
import Testing

@testable import GatewayService

/// What RFC 9110 and 9112 ask of a gateway, request by request.
@Suite("Rules of HTTP/1.1")
struct HTTP1RulesTests {
    private func exchange(_ gateway: GatewayHarness, _ request: String) async throws -> RawClient.Answer {
        let client = try await gateway.connect()
        defer { Task { await client.close() } }
        try await client.send(request)
        return try await client.answer(toHead: request.hasPrefix("HEAD "))
    }

    @Test(
        "A request with an invalid Host reaches no service",
        arguments: [
            "a[b", "a:80:90", "[::1", "a:-1", "a]", "[::1]x", "[::1]:", "[1.2.3.4]", "[::1%25eth0]", "[v1.x]", "[]",
            "a:80a", "a:65536", ":80", "a,b", "a%41", "[::1]:80:90", "[:::1]", "[12345::]",
        ])
    func hosts(_ host: String) async throws {
        try await GatewayHarness.withGateway { gateway in
            let answer = try await exchange(gateway, "GET /open HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            if host == "[::1]:" {
                // An empty port is one (RFC 3986 §3.2.3).
                #expect(answer.status == 200)
            } else {
                #expect(answer.status == 400 && answer.code == "INVALID_REQUEST")
                #expect(gateway.team.begun == 0)
            }
        }
    }

    @Test("A HEAD request: the answer has no body, whatever is wrong")
    func heads() async throws {
        try await GatewayHarness.withGateway { gateway in
            let long = String(repeating: "a", count: 9000)
            let requests = [
                (400, "HEAD /open HTTP/1.1\r\nHost: a[b\r\n\r\n"), (400, "HEAD /open/../x HTTP/1.1\r\nHost: h\r\n\r\n"),
                (431, "HEAD /open HTTP/1.1\r\nHost: h\r\nA: \(long)\(long)\r\n\r\n"),
                (414, "HEAD /\(long) HTTP/1.1\r\nHost: h\r\n\r\n"), (404, "HEAD /nothing HTTP/1.1\r\nHost: h\r\n\r\n"),
                (505, "HEAD /open HTTP/1.0\r\nHost: h\r\n\r\n"),
            ]
            for (status, request) in requests {
                let client = try await gateway.connect()
                try await client.send(request)
                let answer = try await client.answer(toHead: true)
                #expect(answer.status == status && answer["content-length"] != nil, "\(request.prefix(30))")
                if status != 404 { #expect(try await client.untilClosed() == "", "\(request.prefix(30))") }
                await client.close()
            }
        }
    }

    @Test("A target that is too long is 414, and a head 431")
    func targets() async throws {
        try await GatewayHarness.withGateway { gateway in
            // The second one's end never comes.
            for length in [8193, 20_000] {
                let target = "/open/" + String(repeating: "a", count: length - 6)
                let answer = try await exchange(gateway, "GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(answer.status == 414 && answer.code == "URI_TOO_LONG")
            }
            let fitting = "/open/" + String(repeating: "a", count: 8192 - 6)
            #expect(try await exchange(gateway, "GET \(fitting) HTTP/1.1\r\nHost: h\r\n\r\n").status == 200)
        }
    }

    @Test("Another version of HTTP is told so")
    func versions() async throws {
        try await GatewayHarness.withGateway { gateway in
            for version in ["1.0", "1.2", "2.0", "0.9"] {
                let answer = try await exchange(gateway, "GET /open HTTP/\(version)\r\nHost: h\r\n\r\n")
                #expect(answer.status == 505 && answer.code == "HTTP_VERSION_NOT_SUPPORTED")
            }
            for version in ["HTTP/1", "HTTP/1.10", "http/1.1", "HTTP/1,1", "HTTP/x.1"] {
                let answer = try await exchange(gateway, "GET /open \(version)\r\nHost: h\r\n\r\n")
                #expect(answer.status == 400, "\(version)")
            }
            #expect(gateway.team.begun == 0)
        }
    }

    @Test("Max-Forwards of OPTIONS is lowered by one, and at 0 the gateway is the last")
    func maxForwards() async throws {
        try await GatewayHarness.withGateway { gateway in
            func send(_ method: String, _ fields: String) async throws -> RawClient.Answer {
                try await exchange(gateway, "\(method) /open HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
            }
            for (given, passed) in [("1", "0"), ("10", "9"), ("007", "6"), ("99999999999999999999", "999999999")] {
                #expect(try await send("OPTIONS", "Max-Forwards: \(given)\r\n").status == 200)
                let fields = gateway.team.requests.last?.head.headers["Max-Forwards"]
                #expect(fields == [passed])
            }
            let begun = gateway.team.begun
            let last = try await send("OPTIONS", "Max-Forwards: 0\r\n")
            #expect(last.status == 204 && last["allow"] == "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
            for bad in ["", "-1", "1 2", "1, 2", "x", "1\r\nMax-Forwards: 1"] {
                #expect(try await send("OPTIONS", "Max-Forwards: \(bad)\r\n").status == 400, "\(bad)")
            }
            #expect(gateway.team.begun == begun)
            // Of any other method it says nothing (RFC 9110 §7.6.2).
            #expect(try await send("GET", "Max-Forwards: 0\r\n").status == 200)
            #expect(gateway.team.requests.last?.field("Max-Forwards") == "0")
        }
    }

    @Test("A trailer field that Connection names goes no further, either way")
    func trailers() async throws {
        let behaviour: RecordingUpstream.Behaviour = { _ in
            [
                .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Near\r\n\r\n"),
                .bytes("1\r\na\r\n0\r\nX-Near: 1\r\nX-Far: 2\r\n\r\n"),
            ]
        }
        try await GatewayHarness.withGateway(.init { $0.teamBehaviour = behaviour }) { gateway in
            let head =
                "POST /open HTTP/1.1\r\nHost: h\r\nConnection: x-one, X-TWO\r\nTransfer-Encoding: chunked\r\n\r\n"
            let answer = try await exchange(gateway, head + "1\r\na\r\n0\r\nX-One: 1\r\nx-two: 2\r\nX-Three: 3\r\n\r\n")
            let trailers = gateway.team.requests.last?.trailers
            #expect(trailers?["X-One"] == [] && trailers?["x-two"] == [] && trailers?["X-Three"] == ["3"])
            #expect(!answer.raw.contains("X-Near") && answer.raw.contains("X-Far: 2"))
        }
    }

    @Test("A trace is continued from one good traceparent, of this version or a later one")
    func traces() async throws {
        try await GatewayHarness.withGateway { gateway in
            let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
            func forwarded(_ values: String...) async throws -> (trace: String, state: String?) {
                let fields = values.map { "traceparent: \($0)\r\n" }.joined() + "tracestate: a=1\r\n"
                #expect(try await gateway.send("GET /open", fields: fields).status == 200)
                let request = gateway.team.requests.last
                return (request?.field("traceparent") ?? "", request?.field("tracestate"))
            }
            for good in ["00-\(trace)-\(span)-01", "01-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01-what-comes"] {
                let (parent, state) = try await forwarded(good)
                // The gateway records nothing, and says so.
                #expect(parent.hasPrefix("00-\(trace)-") && parent.hasSuffix("-00") && state == "a=1", "\(good)")
            }
            let bad = [
                "ff-\(trace)-\(span)-01", "00-\(trace)-\(span)-01-x", "01-\(trace)-\(span)-01x",
                "0-\(trace)-\(span)-01",
                "01-\(trace)-\(span)-0",
            ]
            for bad in bad {
                let (parent, state) = try await forwarded(bad)
                #expect(!parent.contains(trace) && parent.hasSuffix("-00") && state == nil, "\(bad)")
            }
            let (parent, state) = try await forwarded("00-\(trace)-\(span)-01", "00-\(trace)-\(span)-01")
            #expect(!parent.contains(trace) && state == nil)
        }
    }

    @Test("Where clients decide what is recorded, their mark goes on without a collector too", arguments: ["00", "01"])
    func followedTraces(flags: String) async throws {
        let options = GatewayHarness.Options { $0.settings.followsClientTraces = true }
        try await GatewayHarness.withGateway(options) { gateway in
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-\(flags)"
            let response = try await gateway.send("GET /open", fields: "traceparent: \(parent)\r\n")
            #expect(response.status == 200)
            #expect(gateway.team.requests.last?.field("traceparent")?.hasSuffix("-\(flags)") == true)
        }
    }

    @Test("An expectation that the gateway does not meet is 417, beside one that it meets too")
    func expectations() async throws {
        try await GatewayHarness.withGateway { gateway in
            for fields in [
                "Expect:\r\n", "Expect: ,\r\n", "Expect: 100-continue\r\nExpect:\r\n", "Expect: magic\r\n",
                "Expect: magic\r\nExpect: 100-continue\r\n",
                "Expect: 100-continue\r\nExpect: magic\r\n", "Expect: 100-continue, magic\r\n",
                "Expect: 100-continuex\r\n",
            ] {
                let answer = try await gateway.send("POST /open", fields: fields, body: "a")
                #expect(answer.status == 417 && answer.code == "EXPECTATION_FAILED", "\(fields)")
            }
            #expect(gateway.team.begun == 0)
            for fields in [
                "Expect: 100-Continue, 100-continue\r\n", "Expect: 100-continue\r\nExpect: 100-continue\r\n",
            ] {
                let client = try await gateway.connect()
                try await client.send(GatewayHarness.request("POST /open", fields: fields + "Content-Length: 1\r\n"))
                #expect(try await client.answer().status == 100)
                try await client.send("a")
                #expect(try await client.answer().status == 200)
                await client.close()
            }
        }
    }

    @Test("What is refused against the letter of the RFC: docs/reference/gateway.md lists it")
    func refusedOnPurpose() async throws {
        try await GatewayHarness.withGateway { gateway in
            for request in [
                "GET http://h/open HTTP/1.1\r\nHost: h\r\n\r\n", "\r\nGET /open HTTP/1.1\r\nHost: h\r\n\r\n",
                "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
                "POST /open HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;a=\"b\"\r\na\r\n0\r\n\r\n",
            ] {
                let answer = try await exchange(gateway, request)
                #expect(answer.status == 400)
            }
            #expect(gateway.team.requests.isEmpty)
        }
    }
}
