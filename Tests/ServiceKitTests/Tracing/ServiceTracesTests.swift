import AsyncHTTPClient
import Foundation
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import HTTPTypes
import TestKit
import Testing
import Tracing

@testable import GatehouseObservability

/// A service that records traces, and the collector that it sends them to.
@Suite struct ServiceTracesTests {
    /// The request's span, and those of the team below it in the order of their ends.
    private func parcels(
        _ path: String, sampled: Bool
    ) async throws -> (server: OTLPReceiver.Span?, own: [OTLPReceiver.Span], text: String) {
        try await OTLPReceiver.run { receiver, url in
            let settings = [
                "GATEHOUSE_TRACES_ENDPOINT": url.absoluteString, "GATEHOUSE_TRACES_PERCENT": "0",
                "PARCELS_GATEWAY_CREDENTIALS": "dev-gateway-parcels",
            ]
            try await withService(ParcelsApplication.self, settings: settings) { service in
                let headers = fields(sampled: sampled, credential: "dev-gateway-parcels")
                _ = try await TestHTTPClient(service.url).get(path, headers: headers)
            }
            return (
                receiver.spans.first { $0.kind == 2 }, receiver.spans.filter { $0.kind != 2 }, receiver.text
            )
        }
    }

    @Test("A team's spans are children of the request's span, and of each other")
    func spansOfATeam() async throws {
        let (server, own, text) = try await parcels("/v1/parcels", sampled: true)
        let request = try #require(server)
        try #require(own.map(\.name) == ["print labels", "weigh parcels"])
        #expect(own.map(\.parentSpanID) == [own[1].spanID, request.spanID])
        #expect(own.map(\.kind) == [1, 4])
        #expect(own.allSatisfy { $0.traceID == Self.traceID && $0.service == "parcels" && !$0.isError })
        #expect(own[0].attributes == ["gatehouse.request_id": "the-request"])
        #expect(
            own[1].attributes == [
                "gatehouse.request_id": "the-request", "parcels.count": "3", "parcels.weights": "[0.5, 12.0]",
            ])
        #expect(own[1].duration >= own[0].duration && !text.contains("hush"))
    }

    @Test("A team's span whose work throws has failed, with the error's type")
    func failedSpanOfATeam() async throws {
        let (server, own, _) = try await parcels("/v1/lost", sampled: true)
        let span = try #require(own.first)
        #expect(server?.isError == true && own.count == 1)
        #expect(span.isError && span.parentSpanID == server?.spanID)
        #expect(span.attributes["error.type"] == "AddressUnknown")
    }

    @Test("A team's spans are not recorded without their trace", arguments: ["/v1/parcels", "/v1/lost"])
    func unrecordedSpansOfATeam(path: String) async throws {
        let (server, own, text) = try await parcels(path, sampled: false)
        #expect(server == nil && own.isEmpty && text.isEmpty)
    }

    private static let traceID = "0af7651916cd43dd8448eb211c80319c"
    private static let callersSpan = "b7ad6b7169203331"

    private func fields(
        sampled: Bool, credential: String? = "dev-gateway-echo", requestID: String = "the-request"
    ) -> [String: String] {
        [
            "traceparent": "00-\(Self.traceID)-\(Self.callersSpan)-\(sampled ? "01" : "00")",
            HeaderName.requestID: requestID, HeaderName.credential: credential ?? "none",
        ]
    }

    /// The spans that a service has sent when it has ended.
    private func spans(
        percent: Int, _ body: @Sendable (RunningService) async throws -> Void
    ) async throws -> (spans: [OTLPReceiver.Span], text: String) {
        try await OTLPReceiver.run { receiver, url in
            let settings = [
                "GATEHOUSE_TRACES_ENDPOINT": url.absoluteString, "GATEHOUSE_TRACES_PERCENT": "\(percent)",
            ]
            try await withService(EchoApplication.self, settings: echoSettings.merging(settings) { $1 }, body)
            return (receiver.spans, receiver.text)
        }
    }

    @Test func aRequestOfTheGatewayIsAChildOfTheGatewaysSpan() async throws {
        let id = UUID().uuidString
        let spans = try await spans(percent: 0) { service in
            let answer = try await TestHTTPClient(service.url).get("/v1/echo/\(id)", headers: fields(sampled: true))
            #expect(answer.status == 200)
        }.spans
        let span = try #require(spans.first)
        #expect(spans.count == 1)
        #expect(span.service == "echo" && span.kind == 2 && span.name == "GET /v1/echo/{id}" && !span.isError)
        #expect(span.traceID == Self.traceID && span.parentSpanID == Self.callersSpan)
        #expect(span.spanID != Self.callersSpan)
        #expect(
            span.attributes == [
                "gatehouse.request_id": "the-request", "http.request.method": "GET", "http.route": "/v1/echo/{id}",
                "http.response.status_code": "200", "gatehouse.caller": "gateway",
            ])
    }

    @Test func whoHasNoCredentialDoesNotDecide() async throws {
        let none = try await spans(percent: 0) { service in
            let client = TestHTTPClient(service.url)
            _ = try await client.get("/livez", headers: fields(sampled: true, credential: nil))
            _ = try await client.get("/livez", headers: fields(sampled: true, credential: "dev-gateway-echo-"))
            _ = try await client.get("/livez", headers: fields(sampled: false))
            _ = try await client.get("/livez")
        }.spans
        #expect(none.isEmpty)
        let all = try await spans(percent: 100) { service in
            let client = TestHTTPClient(service.url)
            _ = try await client.get("/livez", headers: fields(sampled: false, credential: nil))
            _ = try await client.get("/livez", headers: fields(sampled: false))
            _ = try await client.get("/livez")
        }.spans
        #expect(all.map(\.parentSpanID) == [Self.callersSpan, nil])
    }

    @Test func aFailureIsTheServicesAndARefusalIsNot() async throws {
        let spans = try await spans(percent: 100) { service in
            let client = TestHTTPClient(service.url)
            for path in ["/v1/fail", "/v1/me", "/v1/nowhere/user-7"] { _ = try await client.get(path) }
            _ = try await client.send("PROPFIND", "/v1/fail")
        }.spans
        #expect(spans.map(\.name) == ["GET /v1/fail", "GET /v1/me", "GET", "HTTP /v1/fail"])
        #expect(spans.map(\.isError) == [true, false, false, false])
        #expect(spans[0].attributes["error.type"] == "500")
    }

    @Test func nothingThatAClientSaysIsInASpanButItsRequestID() async throws {
        let text = try await spans(percent: 100) { service in
            let client = TestHTTPClient(service.url)
            _ = try await client.get(
                "/v1/echo/hush?token=hush", headers: ["Authorization": "Bearer hush", "User-Agent": "hush"])
            _ = try await client.post("/v1/echo", text: #"{"text": "hush", "count": "hush"}"#)
            _ = try await client.get("/v1/echo/x", headers: [HeaderName.requestID: "hush@example.com"])
        }.text
        #expect(text.contains("/v1/echo/{id}") && !text.lowercased().contains("hush"))
    }

    @Test func aCallIsASpanAndTheCalleesParent() async throws {
        let tracer = GatehouseTracer(sampler: TraceSampler(percent: 0), spans: SpanBuffer())
        let own = TraceContext(isSampled: true)
        let served = try await spans(percent: 0) { service in
            let http = HTTPClient(configuration: .gatehouse())
            let client = ServiceClient(
                callee: "echo", urls: [service.url], credential: "dev-identity-one", httpClient: http,
                dependencyTimeout: .seconds(60))
            var context = ServiceContext.topLevel
            context.requestID = "mine"
            context.traceContext = own
            await withTracer(tracer) {
                await ServiceContext.withValue(context) {
                    try? await client.send(.post, "/internal/things")
                    try? await client.send(.get, "/v1/echo/hush")
                }
            }
            try await http.shutdown()
        }.spans
        let made = tracer.spans.take()
        #expect(made.map(\.name) == ["POST echo", "GET echo"] && made.map(\.isError) == [false, true])
        #expect(made.allSatisfy { $0.traceID == own.traceID && $0.parentSpanID == own.spanID && $0.kind == .client })
        #expect(served.map(\.parentSpanID) == made.map(\.spanID))
        #expect(served.allSatisfy { $0.traceID == own.traceID && $0.attributes["gatehouse.request_id"] == "mine" })
        let attributes = made[1].attributes
        let expected: [FinishedSpan.Attribute] = [
            .requestID("mine"), .peer("echo"), .server("127.0.0.1"), .errorType("404"),
        ]
        #expect(expected.allSatisfy(attributes.contains), "\(attributes)")
        #expect(!"\(made)".contains("hush"))
    }

    @Test func aCallThatIsNotAnsweredSaysWhy() async throws {
        let tracer = GatehouseTracer(sampler: TraceSampler(percent: 0), spans: SpanBuffer())
        let http = HTTPClient(configuration: .gatehouse())
        let closed = HTTPClientRequest(url: "http://127.0.0.1:\(try freePort())/keys")
        var context = ServiceContext.topLevel
        context.traceContext = TraceContext(isSampled: true)
        try await withTCPServer { port in
            let silent = HTTPClientRequest(url: "http://127.0.0.1:\(port)/keys")
            await withTracer(tracer) {
                await ServiceContext.withValue(context) {
                    _ = try? await http.exchange(closed, with: "apple", upTo: 9, before: .after(.seconds(60)))
                    _ = try? await http.exchange(silent, with: "apple", upTo: 9, before: .after(.milliseconds(50)))
                }
            }
        }
        try await http.shutdown()
        let spans = tracer.spans.take()
        #expect(spans.map(\.name) == ["GET apple", "GET apple"] && spans.allSatisfy(\.isError))
        #expect(spans.allSatisfy { $0.attributes.contains(.urlTemplate("/keys")) })
        #expect(spans[1].attributes.contains(.errorType("timeout")))
    }

    @Test func settings() throws {
        func traces(_ settings: [String: String]) throws -> TraceSettings {
            try ServiceConfiguration<EchoApplication>.load(
                environment: echoSettings.merging(["GATEHOUSE_ENVIRONMENT": "development"]) { $1 }
                    .merging(settings) { $1 }
            ).traces
        }
        #expect(try traces([:]) == TraceSettings(endpoint: nil, percent: 1))
        #expect(
            try traces(["GATEHOUSE_TRACES_ENDPOINT": "http://collector:4318", "GATEHOUSE_TRACES_PERCENT": "0.5"])
                == TraceSettings(endpoint: URL(string: "http://collector:4318"), percent: 0.5))
        for (name, value) in [
            ("GATEHOUSE_TRACES_ENDPOINT", "collector:4318"), ("GATEHOUSE_TRACES_PERCENT", "101"),
            ("GATEHOUSE_TRACES_PERCENT", "few"),
        ] {
            let error = #expect(throws: SettingsError.self) { try traces([name: value]) }
            #expect("\(error, default: "")".contains(name))
        }
    }
}
