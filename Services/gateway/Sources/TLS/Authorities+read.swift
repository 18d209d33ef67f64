import Foundation

extension Upstream.Authorities {
    /// Reads a file of authorities, and makes sure that connections can be opened with it.
    ///
    /// - Parameter file: PEM; `nil`: those that the system trusts.
    /// - Throws: `UpstreamTLS.NoAuthority`; `NIOSSLError`; `CocoaError`.
    static func read(file: String?) throws -> Upstream.Authorities {
        let pem = try file.map { Array(try Data(contentsOf: URL(filePath: $0))) }
        let authorities = Upstream.Authorities(file: file, pem: pem)
        _ = try UpstreamTLS(authorities)
        return authorities
    }
}
