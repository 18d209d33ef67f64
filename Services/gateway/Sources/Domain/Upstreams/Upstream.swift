/// A service that the gateway forwards to: one of Gatehouse's own, or a team's.
struct Upstream: Sendable, Hashable {
    /// Where one replica of it listens.
    struct Address: Sendable, Hashable {
        /// A name, or an IP address without brackets.
        var host: String
        var port: Int
        /// Whether it speaks TLS.
        var isSecure = false

        /// In messages and URLs.
        var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

        /// For the `Host` field, without a port that goes without saying (RFC 9110 §4.2.3).
        var hostField: String {
            guard port == (isSecure ? 443 : 80) else { return authority }
            return host.contains(":") ? "[\(host)]" : host
        }
    }

    /// Who vouches for the certificates of addresses that speak TLS.
    struct Authorities: Sendable, Hashable {
        /// `nil`: those that the system trusts.
        let file: String?
        /// What it held.
        let pem: [UInt8]?

        /// Two of the same content are the same: connections live on when routes are read again.
        static func == (one: Authorities, other: Authorities) -> Bool { one.pem == other.pem }

        func hash(into hasher: inout Hasher) { hasher.combine(pem) }
    }

    /// In metrics and logs.
    var name: String
    var addresses: [Address]
    /// What the gateway proves itself with to this upstream and to no other.
    var credential: String?
    /// `nil`: its addresses speak without TLS.
    var authorities: Authorities?
    /// `nil`: its addresses are judged by how they respond to requests alone.
    var healthCheck: HealthCheck?
    /// How long a kept connection may be unused; `nil`: as long as any upstream's.
    var idleTimeout: Duration?
    /// Trouble of Gatehouse's own services is `UNAVAILABLE`; a team's is `BAD_GATEWAY` or `TIMEOUT`.
    var isGatehouse: Bool
}
