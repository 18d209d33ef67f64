import Foundation
import TestKit
import Testing

@testable import GatehouseObservability
@testable import GatewayService

@Suite("Spans")
struct SpanTests {
    private static let traceID = "0af7651916cd43dd8448eb211c80319c"
    private static let clientsSpan = "b7ad6b7169203331"

    private let spans = SpanBuffer()

    private func options(
        percent: Double, _ change: (inout GatewayHarness.Options) -> Void = { _ in }
    ) -> GatewayHarness.Options {
        GatewayHarness.Options {
            $0.tracer = GatehouseTracer(sampler: TraceSampler(percent: percent), spans: spans)
            change(&$0)
        }
    }

    private func field(sampled: Bool) -> String {
        "traceparent: 00-\(Self.traceID)-\(Self.clientsSpan)-\(sampled ? "01" : "00")\r\n"
    }

    /// That many spans, which come about when their answers do.
    private func take(_ count: Int) async throws -> [FinishedSpan] {
        var all: [FinishedSpan] = []
        try await eventually("there are \(count) spans") {
            all += spans.take()
            return all.count >= count
        }
        try #require(all.count == count)
        return all
    }

    /// The gateway's own span and that of the upstream's part.
    private func pair() async throws -> (server: FinishedSpan, client: FinishedSpan) {
        let all = try await take(2)
        return (
            try #require(all.first { $0.kind == .server }), try #require(all.first { $0.kind == .client })
        )
    }

    @Test("The upstream is a child of the gateway's call, that of the gateway's request, and that of the client's span")
    func parents() async throws {
        try await GatewayHarness.withGateway(options(percent: 100)) { gateway in
            let answer = try await gateway.send(
                "POST /open/user-7?token=hush", fields: field(sampled: false) + "X-Request-Id: my-request\r\n",
                body: "hush")
            #expect(answer.status == 200)
            let (server, client) = try await pair()
            let forwarded = gateway.team.requests[0].field("traceparent")
            #expect(forwarded == "00-\(Self.traceID)-\(client.spanID)-01")
            #expect(server.traceID == Self.traceID && client.traceID == Self.traceID)
            #expect(server.parentSpanID == Self.clientsSpan && client.parentSpanID == server.spanID)
            #expect(server.kind == .server && client.kind == .client)
            #expect(server.name == "POST /open/*" && client.name == "POST team")
            #expect(!server.isError && !client.isError)
            #expect(
                server.attributes == [
                    .requestID("my-request"), .method("POST"), .route("/open/*"), .protocolVersion("1.1"),
                    .status(200),
                ])
            #expect(client.attributes.contains(.server("127.0.0.1")) && client.attributes.contains(.status(200)))
            #expect(server.time.start <= client.time.start && client.time.end <= server.time.end)
            #expect(!"\(server) \(client)".contains("hush") && !"\(server) \(client)".contains("user-7"))
        }
    }

    @Test("A trace that begins here has no parent, and each request another")
    func roots() async throws {
        try await GatewayHarness.withGateway(options(percent: 100)) { gateway in
            for _ in 0..<20 { _ = try await gateway.send("GET /open") }
            let all = try await take(40)
            #expect(Set(all.map(\.spanID)).count == 40 && Set(all.map(\.traceID)).count == 20)
            #expect(all.count { $0.parentSpanID == nil } == 20)
            #expect(gateway.team.requests.allSatisfy { $0.field("traceparent")?.hasSuffix("-01") == true })
        }
    }

    @Test("A client decides only where the gateway follows it", arguments: [true, false], [0.0, 100])
    func sampling(follows: Bool, percent: Double) async throws {
        try await GatewayHarness.withGateway(options(percent: percent) { $0.settings.followsClientTraces = follows }) {
            gateway in
            for sampled in [true, false] {
                _ = try await gateway.send("GET /open", fields: field(sampled: sampled))
                let isRecorded = follows ? sampled : percent == 100
                _ = try await take(isRecorded ? 2 : 0)
                let forwarded = gateway.team.requests.last?.field("traceparent") ?? ""
                #expect(forwarded.hasPrefix("00-\(Self.traceID)-"))
                #expect(forwarded.hasSuffix(isRecorded ? "-01" : "-00"))
            }
        }
    }

    @Test("Without a collector a trace is passed on as not recorded")
    func off() async throws {
        try await GatewayHarness.withGateway { gateway in
            for sampled in [true, false] {
                _ = try await gateway.send("GET /open", fields: field(sampled: sampled))
                let forwarded = gateway.team.requests.last?.field("traceparent") ?? ""
                #expect(forwarded.hasPrefix("00-\(Self.traceID)-") && forwarded.hasSuffix("-00"))
            }
        }
    }

    @Test("An upstream that cannot be asked is told of on both spans")
    func unreachable() async throws {
        let port = try freePort()
        try await GatewayHarness.withGateway(options(percent: 100) { $0.teamPorts = [port] }) { gateway in
            #expect(try await gateway.send("POST /open", body: "x").status == 502)
            let (server, client) = try await pair()
            for span in [server, client] {
                #expect(span.isError && span.attributes.contains(.errorType("unreachable")))
                #expect(span.attributes.contains(.status(502)))
            }
        }
    }

    @Test("What a service refuses is its caller's failure, not the gateway's")
    func refused() async throws {
        let answer = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
        try await GatewayHarness.withGateway(options(percent: 100) { $0.teamBehaviour = { _ in [.bytes(answer)] } }) {
            gateway in
            #expect(try await gateway.send("GET /open").status == 404)
            let (server, client) = try await pair()
            #expect(!server.isError && client.isError && client.attributes.contains(.errorType("404")))
        }
    }

    @Test("A second attempt is told of")
    func resends() async throws {
        let port = try freePort()
        let upstream = RecordingUpstream(RecordingUpstream.answer("ok"))
        let open = try await upstream.start()
        try await GatewayHarness.withGateway(options(percent: 100) { $0.teamPorts = [port, open] }) { gateway in
            for _ in 0..<20 {
                let answer = try await gateway.send("GET /open")
                #expect(answer.status == 200)
            }
        }
        await upstream.stop()
        let resent = try await take(40).filter { $0.attributes.contains(.resends(1)) }
        #expect(!resent.isEmpty && resent.allSatisfy { $0.kind == .client && !$0.isError })
    }

    @Test("The access log has a line for each recorded request, whatever its share, with the ids of the trace")
    func logged() async throws {
        let log = CapturedLog()
        try await GatewayHarness.withGateway(options(percent: 100) { $0.logger = log.logger }) { gateway in
            _ = try await gateway.send("GET /open")
            let server = try await pair().server
            var lines: [String] = []
            try await eventually("a line is written") {
                lines = log.lines.filter { $0.hasPrefix("info request ") }
                return lines.count == 1
            }
            #expect(lines.first?.contains("\"trace_id\": \(server.traceID)") == true)
            #expect(lines.first?.contains("\"span_id\": \(server.spanID)") == true)
        }
    }
}
