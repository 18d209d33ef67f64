import Foundation
import GatehouseServiceKit
import TestKit
import Testing

/// What a client may send that is no good HTTP, through a real socket.
@Suite struct ConnectionTests {
    private func withEcho(_ body: @Sendable (URL) async throws -> Void) async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { try await body($0.url) }
    }

    private static let filler = String(repeating: "x", count: 1000)
    /// The beginning of a head.
    private let post = "POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"

    @Test(arguments: [
        ("GET /livez HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", 431),
        ("GET /livez HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 132) + "\r\n", 431),
        ("GET /livez HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: \(filler)\r\n", count: 25) + "\r\n", 431),
        ("GET /\(String(repeating: "x", count: 20_000)) HTTP/1.1\r\nHost: a\r\n\r\n", 431),
        ("nonsense\r\n\r\n", 400),
        ("GET /livez\r\n\r\n", 400),
        ("GET /livez HTTP/1.1\r\nHost a\r\n\r\n", 400),
        ("POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
        ("POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ])
    func refusesBadHeadsWithAProblem(_ request: String, _ status: Int) async throws {
        try await withEcho { url in
            let (answer, isClosed) = try await rawExchange(url, [request])
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            #expect(answer.contains("application/problem+json"))
            #expect(answer.lowercased().contains("x-request-id: "))
            #expect(answer.hasSuffix("}"))
            #expect(isClosed)
        }
    }

    @Test func answersWhatCameBeforeABadHead() async throws {
        try await withEcho { url in
            let slow = "GET /v1/slow HTTP/1.1\r\nHost: a\r\n\r\n"
            let (answer, isClosed) = try await rawExchange(url, [slow + "nonsense\r\n\r\n"])
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
            #expect(answer.contains("HTTP/1.1 400 "))
            #expect(answer.hasSuffix("}"))
            #expect(isClosed)
        }
    }

    /// What is read and waits for its turn grows older all the same.
    @Test func aRequestsTimeRunsFromWhenItWasRead() async throws {
        try await withEcho { url in
            let slow = "GET /v1/slow HTTP/1.1\r\nHost: a\r\n\r\n"
            let (answer, _) = try await rawExchange(
                url, [slow + "GET /v1/seen HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"])
            let age = try #require(answer.firstMatch(of: /"age":(\d+)/).flatMap { Int($0.1) }, "\(answer)")
            #expect(age >= 290)
            let short = "GET /v1/seen HTTP/1.1\r\nHost: a\r\nGatehouse-Deadline-Ms: 200\r\nConnection: close\r\n\r\n"
            let (late, _) = try await rawExchange(url, [slow + short])
            #expect(late.contains("HTTP/1.1 503 "), "\(late)")
        }
    }

    @Test func refusesABodyThatIsNoChunks() async throws {
        try await withEcho { url in
            let head = post + "Transfer-Encoding: chunked\r\n\r\n"
            let (answer, isClosed) = try await rawExchange(url, [head + "2\r\n{}\r\nzz\r\n"])
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            #expect(answer.contains("INVALID_REQUEST"))
            #expect(isClosed)
        }
    }

    @Test func answersALargeBodyBeforeItsEnd() async throws {
        try await withEcho { url in
            let piece = String(repeating: "x", count: 1 << 20)
            let length = post + "Content-Length: 10485760\r\n\r\n"
            // Answered from the head alone, and still readable for a client that sends all of it first.
            for pieces in [[length], [length] + Array(repeating: piece, count: 10)] {
                let (answer, isClosed) = try await rawExchange(url, pieces)
                #expect(answer.hasPrefix("HTTP/1.1 413 "), "\(answer.prefix(100))")
                #expect(answer.hasSuffix("}"))
                #expect(isClosed)
            }
            let chunked = post + "Transfer-Encoding: chunked\r\n\r\n"
            let (answer, _) = try await rawExchange(
                url, [chunked] + Array(repeating: "100000\r\n\(piece)\r\n", count: 10) + ["0\r\n\r\n"])
            #expect(answer.hasPrefix("HTTP/1.1 413 "), "\(answer.prefix(100))")
        }
    }

    @Test func continuesWhoExpectsIt() async throws {
        try await withEcho { url in
            let head = post + "Expect: 100-continue\r\n"
            let (answer, _) = try await rawExchange(
                url, [head + "Content-Length: 12\r\n\r\n", #"{"text":"a"}"#], until: { $0.hasSuffix("}") })
            #expect(answer.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 "), "\(answer)")
            let (refusal, _) = try await rawExchange(
                url, [head + "Content-Length: 100000\r\n\r\n"], until: { $0.hasSuffix("}") })
            #expect(refusal.hasPrefix("HTTP/1.1 413 "), "\(refusal)")
        }
    }

    @Test func answersPipelinedRequestsInOrder() async throws {
        try await withEcho { url in
            let slow = "GET /v1/slow HTTP/1.1\r\nHost: a\r\nX-Request-Id: first\r\n\r\n"
            let fast = "GET /livez HTTP/1.1\r\nHost: a\r\nX-Request-Id: second\r\nConnection: close\r\n\r\n"
            let (answer, isClosed) = try await rawExchange(url, [slow + fast])
            let first = try #require(answer.range(of: "first"))
            let second = try #require(answer.range(of: "second"))
            #expect(first.lowerBound < second.lowerBound)
            #expect(isClosed)
        }
    }

    @Test func writesNoBodyForHead() async throws {
        try await withEcho { url in
            func request(_ line: String, _ fields: String = "") -> String {
                "\(line) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
            }
            // The last is no HEAD: its body alone is there, and what stands before it is heads.
            let requests =
                request("HEAD /livez") + request("HEAD /none") + request("HEAD /v1/echo")
                + request("GET /livez", "Connection: close\r\n")
            let (answer, _) = try await rawExchange(url, [requests])
            let messages = answer.components(separatedBy: "\r\n\r\n")
            let begun = messages.map { $0.prefix(12) }
            #expect(begun == ["HTTP/1.1 200", "HTTP/1.1 404", "HTTP/1.1 405", "HTTP/1.1 200", #"{"status":"o"#])
            #expect(messages[0].contains("Content-Length: \(messages.last?.utf8.count ?? 0)"), "\(answer)")
        }
    }

    @Test func servesOtherClientsWhileOneIsSlow() async throws {
        try await withEcho { url in
            let client = TestHTTPClient(url)
            let half = Task { try await rawExchange(url, ["GET /livez HTT"], timeout: .seconds(1)) }
            for _ in 0..<20 { #expect(try await client.get("/livez").status == 200) }
            _ = try await half.value
        }
    }
}
