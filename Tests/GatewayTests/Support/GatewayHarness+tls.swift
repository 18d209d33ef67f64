import Foundation
import NIOSSL
import TestKit

@testable import GatewayService

extension GatewayHarness {
    /// Runs `body` with a gateway that has a certificate, and with what a client needs that trusts it and speaks HTTP/2.
    static func withTLSGateway(
        _ options: Options = Options(), _ body: @Sendable (GatewayHarness, NIOSSLContext) async throws -> Void
    ) async throws {
        try await withTLSFiles { files, tls in
            var options = options
            options.certificate = try ServerCertificate(
                certificateFile: files.certificate.path, keyFile: files.key.path, logger: .quiet)
            try await withGateway(options) { gateway in try await body(gateway, tls) }
        }
    }
}
