import Foundation
import Testing
import Tracing

@testable import GatehouseObservability

/// Against opentelemetry-proto's `trace.proto` and the JSON mapping of OTLP.
@Suite struct OTLPTracesTests {
    private let resource = TraceResource(
        service: "tokens", version: "1.2.3", instance: "i-1", environment: "production")

    private func text(_ spans: [FinishedSpan]) -> String {
        String(decoding: OTLPTraces.json(of: spans, from: resource), as: UTF8.self)
    }

    @Test func isWhatTheMappingSays() {
        let span = FinishedSpan(
            traceID: "0af7651916cd43dd8448eb211c80319c", spanID: "b7ad6b7169203331", parentSpanID: "00f067aa0ba902b7",
            name: "GET /v1/\"x\"", kind: .client, time: SpanTime(start: 1_544_712_660_000_000_001, end: UInt64.max),
            attributes: [.method("GET"), .status(503)], isError: true)
        #expect(
            text([span]) == """
                {"resourceSpans":[{"resource":{"attributes":[\
                {"key":"service.name","value":{"stringValue":"tokens"}},\
                {"key":"service.namespace","value":{"stringValue":"gatehouse"}},\
                {"key":"service.version","value":{"stringValue":"1.2.3"}},\
                {"key":"service.instance.id","value":{"stringValue":"i-1"}},\
                {"key":"deployment.environment.name","value":{"stringValue":"production"}}]},\
                "scopeSpans":[{"scope":{"name":"gatehouse","version":"1.2.3"},"spans":[{\
                "traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331",\
                "parentSpanId":"00f067aa0ba902b7","name":"GET /v1/\\"x\\"","kind":3,\
                "startTimeUnixNano":"1544712660000000001","endTimeUnixNano":"18446744073709551615",\
                "attributes":[{"key":"http.request.method","value":{"stringValue":"GET"}},\
                {"key":"http.response.status_code","value":{"intValue":"503"}}],"status":{"code":2}}]}]}]}
                """)
    }

    @Test("A team's attributes have the type that they were given")
    func typesOfAttributes() {
        let attributes = FinishedSpan.Attribute.bounded([
            "a": 1, "b": 0.5, "c": true, "d": "text", "e": .stringArray(["x", "y"]), "f": .int64Array([1]),
            "g": .double(.infinity), "h": .stringConvertible(Duration.seconds(1)), "i": .boolArray([]),
            "j": .int32(2),
        ])
        #expect(
            text([.example(attributes: attributes)]).contains(
                """
                "attributes":[{"key":"a","value":{"intValue":"1"}},{"key":"b","value":{"doubleValue":0.5}},\
                {"key":"c","value":{"boolValue":true}},{"key":"d","value":{"stringValue":"text"}},\
                {"key":"e","value":{"arrayValue":{"values":[{"stringValue":"x"},{"stringValue":"y"}]}}},\
                {"key":"f","value":{"arrayValue":{"values":[{"intValue":"1"}]}}},\
                {"key":"g","value":{"stringValue":"inf"}},{"key":"h","value":{"stringValue":"1.0 seconds"}},\
                {"key":"i","value":{"arrayValue":{"values":[]}}},{"key":"j","value":{"intValue":"2"}}]
                """))
    }

    @Test func aRootHasNoParentAndNoStatusUnlessItFailed() throws {
        let json = try #require(
            JSONSerialization.jsonObject(with: Data(text([.example(1), .example(2)]).utf8)) as? [String: Any])
        let groups = try #require(json["resourceSpans"] as? [[String: Any]])
        let scopes = try #require(groups.first?["scopeSpans"] as? [[String: Any]])
        let spans = try #require(scopes.first?["spans"] as? [[String: Any]])
        #expect(groups.count == 1 && scopes.count == 1)
        #expect(spans.map { $0["name"] as? String } == ["span 1", "span 2"])
        #expect(spans.allSatisfy { $0["parentSpanId"] == nil && $0["status"] == nil && $0["kind"] as? Int == 2 })
    }
}
