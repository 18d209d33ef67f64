import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Over real sockets.
struct URLSessionTransportTests {
    private func request(_ server: LoopbackServer, _ path: String, method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: server.url + path)))
        request.httpMethod = method
        request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        return request
    }

    @Test func sendsAndReturnsWhateverTheStatus() async throws {
        let server = try LoopbackServer { request in
            request.line == "POST /a HTTP/1.1" ? .status("418 Teapot", ["X-Request-Id: 7"], body: "short") : .silence
        }
        var request = try request(server, "/a", method: "POST")
        request.httpBody = Data("hello".utf8)
        let (body, response) = try await URLSessionTransport().send(request)
        #expect(response.statusCode == 418)
        #expect(response.value(forHTTPHeaderField: "x-request-id") == "7")
        #expect(body == Data("short".utf8))
        #expect(server.requests.first?.body == Data("hello".utf8))
        #expect(server.requests.first?.field("authorization") == "Bearer secret")
    }

    /// `Basic` is not among them: on Linux Foundation waits for a password that never comes, until the deadline.
    @Test(arguments: [
        "Bearer", #"Bearer error="invalid_token", error_description="expired""#, #"Bearer realm="api""#,
        #"Digest realm="x", nonce="y""#, "Negotiate",
    ])
    func aChallengeIsAnAnswerLikeAnyOther(challenge: String) async throws {
        let server = try LoopbackServer { _ in
            .status("401 Unauthorized", ["WWW-Authenticate: \(challenge)"], body: "no")
        }
        let (body, response) = try await URLSessionTransport().send(try request(server, "/"))
        #expect(response.statusCode == 401)
        #expect(body == Data("no".utf8))
        #expect(server.requests.count == 1)
    }

    @Test func aRedirectionWithinTheOriginKeepsTheBearer() async throws {
        let server = try LoopbackServer {
            $0.line.contains("/old")
                ? .status("307 Temporary Redirect", ["Location: /new"]) : .status("200 OK", body: "new")
        }
        let (body, response) = try await URLSessionTransport().send(try request(server, "/old"))
        #expect(body == Data("new".utf8))
        #expect(response.url?.path == "/new")
        #expect(server.requests.map { $0.field("authorization") } == ["Bearer secret", "Bearer secret"])
    }

    @Test func aRedirectionToAnotherOriginHasNoBearerAlsoOnItsWayBack() async throws {
        let home = try LoopbackServer { _ in .status("200 OK", body: "home") }
        let elsewhere = try LoopbackServer { [url = home.url] _ in .status("302 Found", ["Location: \(url)/back"]) }
        let start = try LoopbackServer { [url = elsewhere.url] _ in .status("302 Found", ["Location: \(url)/away"]) }
        let (body, _) = try await URLSessionTransport().send(try request(start, "/"))
        #expect(body == Data("home".utf8))
        #expect(start.requests.first?.field("authorization") == "Bearer secret")
        #expect(elsewhere.requests.first?.field("authorization") == nil)
        #expect(home.requests.first?.field("authorization") == nil)
    }

    @Test func aBodyIsNotCarriedElsewhere() async throws {
        let elsewhere = try LoopbackServer { _ in .status("200 OK") }
        let server = try LoopbackServer { [url = elsewhere.url] _ in
            .status("308 Permanent Redirect", ["Location: \(url)/"])
        }
        var request = try request(server, "/", method: "POST")
        request.httpBody = Data("password".utf8)
        let (_, response) = try await URLSessionTransport().send(request)
        #expect(response.statusCode == 308)
        #expect(elsewhere.requests.isEmpty)
    }

    @Test func redirectionsAreBounded() async throws {
        let server = try LoopbackServer { _ in .status("302 Found", ["Location: /again"]) }
        await #expect { try await URLSessionTransport().send(request(server, "/")) } throws: {
            GatehouseError.networkCode(of: $0) == .httpTooManyRedirects
        }
        #expect(server.requests.count == Redirection.most + 1)
    }

    @Test func nothingIsKept() async throws {
        let server = try LoopbackServer { _ in
            .status("200 OK", ["Set-Cookie: a=b; Path=/", "Cache-Control: max-age=3600", "ETag: \"1\""], body: "x")
        }
        let transport = URLSessionTransport()
        for _ in 0..<2 {
            var request = try request(server, "/")
            request.setValue(nil, forHTTPHeaderField: "Authorization")
            _ = try await transport.send(request)
        }
        #expect(server.requests.count == 2)
        #expect(server.requests.allSatisfy { $0.field("cookie") == nil && $0.field("if-none-match") == nil })
    }

    @Test func connectionRefused() async throws {
        // No process but root's could listen there.
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:1/")))
        await #expect { try await URLSessionTransport().send(request) } throws: {
            GatehouseError.networkCode(of: $0) == .cannotConnectToHost && GatehouseError.of($0).kind == .unavailable
        }
    }

    @Test func aConnectionThatIsCutIsLost() async throws {
        let server = try LoopbackServer { request in
            request.line.contains("/half") ? .pieces(["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"]) : .pieces([])
        }
        for path in ["/", "/half"] {
            await #expect { try await URLSessionTransport().send(request(server, path)) } throws: {
                guard let code = GatehouseError.networkCode(of: $0) else { return false }
                return GatehouseRetryPolicy().decision(
                    after: 1, isIdempotent: true, outcome: .failed(code), random: 0) == .pause(.zero)
            }
        }
    }

    /// The clock strikes when the server has the request, or has sent its head.
    @Test(arguments: [LoopbackServer.Answer.silence, .open("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")])
    func theDeadlineIsAroundTheWholeExchange(answer: LoopbackServer.Answer) async throws {
        let server = try LoopbackServer { _ in answer }
        let transport = URLSessionTransport(limit: .seconds(9), clock: ArrivalClock(server: server))
        await #expect { try await transport.send(request(server, "/")) } throws: {
            GatehouseError.of($0).kind == .timedOut
        }
    }

    @Test func cancellationEndsTheRequest() async throws {
        let server = try LoopbackServer { _ in .silence }
        let request = try request(server, "/")
        let sending = Task { try await URLSessionTransport().send(request) }
        for await _ in server.arrivals { break }
        sending.cancel()
        let result = await sending.result
        #expect { try result.get() } throws: { GatehouseError.of($0).kind == .cancelled }
    }
}

/// A caller that sleeps wakes, with the time passed, when a server has been asked.
private final class ArrivalClock: SessionClock {
    private let server: LoopbackServer
    private let slept = Mutex(Duration.zero)

    init(server: LoopbackServer) { self.server = server }

    var monotonic: Duration { slept.withLock { $0 } }
    var wall: Date { .distantPast }

    func sleep(for duration: Duration) async throws {
        for await _ in server.arrivals {
            slept.withLock { $0 += duration }
            return
        }
        throw CancellationError()
    }
}
