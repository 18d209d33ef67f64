import Foundation
import GatehouseServiceContracts
import NIOSSL
import TestKit

@testable import GatewayService

extension Route {
    /// A route below `path`, which is its name too, to an upstream that speaks TLS.
    static func secure(
        _ path: String, host: String, port: Int, authorities: Upstream.Authorities, healthCheck: HealthCheck? = nil
    ) -> Route {
        Route(
            name: path, pattern: PathPattern(path, isPrefix: true)!, methods: .all, authentication: .none,
            target: .upstream(
                Upstream(
                    name: path, addresses: [.init(host: host, port: port, isSecure: true)], authorities: authorities,
                    healthCheck: healthCheck, isGatehouse: false)),
            bodyLimit: 1000, timeout: .seconds(30))
    }
}

extension GatewayHarness {
    /// Runs `body` with a gateway that has a certificate, and with what a client needs that trusts it and speaks
    /// HTTP/2.
    static func withTLSGateway(
        _ options: Options = Options(), _ body: @Sendable (GatewayHarness, NIOSSLContext) async throws -> Void
    ) async throws {
        try await withTLSFiles { files, tls in
            var options = options
            options.certificate = try ServerCertificate(
                certificateFile: files.certificate.path, keyFile: files.key.path,
                expiry: GatewayMetrics().certificateExpiry, logger: .quiet)
            try await withGateway(options) { gateway in try await body(gateway, tls) }
        }
    }
}
