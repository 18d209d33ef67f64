import NIOHPACK

extension GatewayHarness {
    /// Runs `body` with a gateway that has a certificate, and what connects to it.
    static func withHTTP2Gateway(
        _ options: Options = .init(),
        _ body: @Sendable (GatewayHarness, @Sendable () async throws -> HTTP2Client) async throws -> Void
    ) async throws {
        try await withTLSGateway(options) { gateway, tls in
            try await body(gateway) { try await HTTP2Client.connect(port: gateway.port, tls: tls) }
        }
    }
}

extension HPACKHeaders {
    /// The head of a request to the gateway.
    static func request(_ method: String, _ path: String, _ fields: [(String, String)] = []) -> HPACKHeaders {
        HPACKHeaders(
            [(":method", method), (":scheme", "https"), (":authority", "gatehouse.test"), (":path", path)] + fields)
    }
}
