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

    /// In metrics and logs.
    var name: String
    var addresses: [Address]
    /// What the gateway proves itself with to this upstream and to no other.
    var credential: String?
    /// How those of its addresses are known that speak TLS.
    var tls: UpstreamTLS?
    /// `nil`: its addresses are judged by how they respond to requests alone.
    var healthCheck: HealthCheck?
    /// Trouble of Gatehouse's own services is `UNAVAILABLE`; a team's is `BAD_GATEWAY` or `TIMEOUT`.
    var isGatehouse: Bool

    /// The lines that every head there has.
    var lines: String {
        (addresses.first.map { "Host: \($0.hostField)\r\n" } ?? "")
            + (credential.map { "Gatehouse-Credential: \($0)\r\n" } ?? "")
    }
}
