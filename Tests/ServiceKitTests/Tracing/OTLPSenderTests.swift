import AsyncHTTPClient
import Foundation
import GatehouseObservability
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import TestKit
import Testing

@testable import GatehouseServiceKit

/// Against collectors of every kind, on real sockets.
@Suite struct OTLPSenderTests {
    /// Says its text when it is asked: once, in however many pieces the question comes.
    private final class Speaking: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let text: String
        private var hasSpoken = false

        init(_ text: String) {
            self.text = text
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !hasSpoken else { return }
            hasSpoken = true
            context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
        }
    }

    private func outcome(
        at port: Int, within timeout: Duration = .seconds(60)
    ) async throws -> SpanExportOutcome {
        let client = HTTPClient(configuration: .gatehouse())
        let endpoint = try #require(URL(string: "http://127.0.0.1:\(port)"))
        let outcome = await OTLPSender(httpClient: client, endpoint: endpoint, timeout: timeout).send(Array("{}".utf8))
        try await client.shutdown()
        return outcome
    }

    private func outcome(of answer: String, within timeout: Duration = .seconds(60)) async throws -> SpanExportOutcome {
        try await withTCPServer(onAccept: { connection in
            try connection.pipeline.syncOperations.addHandler(Speaking(answer))
        }) { port in
            try await outcome(at: port, within: timeout)
        }
    }

    private static func answer(_ status: String, fields: String = "", _ body: String = "") -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }

    @Test func headersOfTheSettings() async throws {
        let received = Mutex<[HTTPFields]>([])
        let router = Router()
        router.post("v1/traces") { request, _ in
            received.withLock { $0.append(request.headers) }
            return HTTPResponse.Status.ok
        }
        try await withHTTPServer(router) { url in
            let client = HTTPClient(configuration: .gatehouse())
            let headers = ["Authorization": "Bearer a key", "content-type": "text/plain"]
            let sender = OTLPSender(httpClient: client, endpoint: url, headers: headers)
            #expect(await sender.send(Array("{}".utf8)) == .taken(rejected: 0))
            try await client.shutdown()
        }
        let fields = try #require(received.withLock { $0.first })
        #expect(fields[.authorization] == "Bearer a key" && fields[values: .contentType] == ["application/json"])
    }

    @Test(arguments: [
        ("", 0), ("{}", 0), ("<html>", 0), (#"{"partialSuccess":{}}"#, 0),
        (#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}"#, 3),
        (#"{"partialSuccess":{"rejectedSpans":4}}"#, 4), (#"{"partialSuccess":{"rejectedSpans":"many"}}"#, 0),
    ])
    func whatIsTaken(body: String, rejected: Int) async throws {
        #expect(try await outcome(of: Self.answer("200 OK", body)) == .taken(rejected: rejected))
    }

    @Test(
        arguments: [
            ("503 Busy", "Retry-After: 7\r\n", Duration.seconds(7)), ("429 Slow down", "", nil),
            ("502 No", "Retry-After: -1\r\n", .zero), ("504 No", "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", nil),
            ("503 Busy", "Retry-After: 9223372036854775807\r\n", .seconds(3600)),
        ] as [(String, String, Duration?)])
    func whoIsBusy(status: String, fields: String, retryAfter: Duration?) async throws {
        #expect(try await outcome(of: Self.answer(status, fields: fields)) == .busy(retryAfter: retryAfter))
    }

    @Test(arguments: ["307 Elsewhere", "400 Bad", "401 Who", "404 None", "413 Much", "500 Oops", "501 No"])
    func whoWantsNone(status: String) async throws {
        #expect(try await outcome(of: Self.answer(status, fields: "Location: /x\r\n")) == .refused)
    }

    @Test("Nothing listens: the collector is unreachable")
    func missingCollector() async throws {
        #expect(try await outcome(at: freePort()) == .unreachable)
    }

    @Test(
        "The answer is not HTTP: the collector is unreachable",
        arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 2x0 OK\r\n\r\n"])
    func answersWithoutHTTP(answer: String) async throws {
        #expect(try await outcome(of: answer) == .unreachable)
    }

    @Test("The answer is too long: the collector is unreachable")
    func longAnswers() async throws {
        let much = Self.answer("200 OK", String(repeating: "x", count: OTLPSender.maximumAnswer + 1))
        #expect(try await outcome(of: much) == .unreachable)
    }

    @Test(
        "The answer never ends: the collector is unreachable after the timeout",
        arguments: ["", "HTTP/1.1 200 OK\r\nX:", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}"])
    func endlessAnswers(answer: String) async throws {
        #expect(try await outcome(of: answer, within: .milliseconds(200)) == .unreachable)
    }
}
