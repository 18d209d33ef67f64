import Testing

@testable import GatewayService

@Suite("Field names")
struct FieldNameTests {
    private func name(_ text: String) -> FieldName { Array(text.utf8).withUnsafeBytes { FieldName($0) } }

    @Test(
        "Whatever folds to Gatehouse's names is known",
        arguments: [
            "Gatehouse-User-Id", "gatehouse-user-id", "GATEHOUSE-ROLE", "Gatehouse_User_Id", "gatehouse.role",
            "Gatehouse-", "Gatehouse~x", "gAtEhOuSe!Credential", "Gatehouse--Role", "gatehouse-anything-new",
        ])
    func reserved(_ text: String) { #expect(name(text) == .reserved) }

    @Test(
        "Known names in any case",
        arguments: [
            ("Host", FieldName.host), ("content-LENGTH", .contentLength), ("Transfer-Encoding", .transferEncoding),
            ("CONNECTION", .connection), ("authorization", .authorization), ("Expect", .expect),
            ("Max-Forwards", .maxForwards),
            ("X-Request-ID", .requestID), ("TraceParent", .traceparent), ("Tracestate", .tracestate),
            ("Keep-Alive", .hopByHop), ("TE", .hopByHop), ("Upgrade", .upgrade), ("Proxy-Authorization", .hopByHop),
            ("X-Forwarded-For", .forwarded), ("x_forwarded_host", .forwarded), ("Forwarded", .forwarded),
            ("X-Real-IP", .forwarded), ("Client-Ip", .forwarded), ("X-Forwarded", .forwarded),
            ("Forwarded-For", .forwarded), ("X-Cluster-Client-IP", .forwarded), ("CF-Connecting-IP", .forwarded),
            ("CF_Connecting_IP", .disguised), ("X-Forwardeds", .other), ("Proxy", .override),
            ("X-HTTP-Method-Override", .override),
            ("x-original-url", .override), ("X-Rewrite-Url", .override), ("X_Rewrite_Url", .disguised),
            ("Content_Length", .disguised), ("transfer.encoding", .disguised),
            ("X_Request_Id", .disguised), ("Authorizatio", .other), ("Gatehouse", .other), ("Gatehouses-Role", .other),
            ("X-Gatehouse-Role", .other), ("Origin", .origin), ("Access-Control-Allow-Origin", .accessControl),
            ("Accept", .other), ("Cookie", .other), ("x", .other), ("Hosts", .other),
        ])
    func known(_ text: String, _ expected: FieldName) { #expect(name(text) == expected) }
}
