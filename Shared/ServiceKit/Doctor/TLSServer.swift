import NIOCore

/// A server that proves itself by a certificate.
public struct TLSServer: Sendable {
    /// What is said before TLS begins.
    public enum Greeting: Sendable {
        case none
        /// PostgreSQL's request for TLS.
        case postgres
    }

    let what: String
    let host: String
    let port: Int
    let greeting: Greeting

    /// - Parameter what: as in "PostgreSQL".
    public init(_ what: String, host: String, port: Int, greeting: Greeting = .none) {
        self.what = what
        self.host = host
        self.port = port
        self.greeting = greeting
    }

    /// What Server Name Indication says: it has no place for addresses (RFC 6066 §3).
    var name: String? { (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil }
}

extension Examination {
    /// Looks at what is left of the life of a server's certificate; nothing where it shows none: that it cannot be
    /// connected to is found by whoever does.
    public func certificate(of server: TLSServer) async -> [Finding] {
        guard
            let expiresAt = try? await CertificateReader.expiry(of: server, on: eventLoopGroup, within: patience)
        else { return [] }
        return [CertificateFinding.finding(of: server, expiresAt: expiresAt)]
    }
}
