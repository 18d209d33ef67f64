import Foundation
import NIOSSL
import TestKit

/// Runs `body` with a certificate, and with what a client needs that trusts it and speaks HTTP/2.
func withTLSFiles(_ body: (TestCertificate, NIOSSLContext) async throws -> Void) async throws {
    try await withFolder { folder in
        let files = try await TestCertificate.make(in: folder)
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(files.authority.path)
        configuration.applicationProtocols = ["h2"]
        try await body(files, try NIOSSLContext(configuration: configuration))
    }
}
