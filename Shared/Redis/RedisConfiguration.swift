import Foundation
public import GatehouseLimits
import NIOCore

/// The address of a Redis server, and the client's timeouts and limits.
public struct RedisConfiguration: Sendable {
    /// How the client verifies a `rediss://` server.
    public struct TLS: Sendable {
        /// PEM file of the authorities to trust; `nil` uses the system's.
        public var trustRootsFile: String?
        /// Whether the certificate must be for the host's name. Off only where names do not apply, for example
        /// behind a tunnel; the chain is checked in any case.
        public var verifiesHostname = true

        public init() {}
    }

    public var host: String
    /// 1 … 65535.
    public var port: Int
    /// The ACL user; `nil` is Redis' `default` user.
    public var user: String?
    public var password: String?
    /// The database number, 0 or more.
    public var database: Int
    /// `nil` connects without TLS.
    public var tls: TLS?

    /// The timeout of opening a connection, including TLS and authentication.
    public var connectTimeout: Duration = .seconds(1)
    /// The timeout of a command, unless the caller sets one. It includes the wait for a connection.
    public var commandTimeout: Duration = .milliseconds(250)
    /// How many commands may wait for their answers. Further commands are refused.
    public var maximumPendingCommands = 10_000
    /// The largest answer in bytes. A larger one ends the connection.
    public var maximumReplyBytes = 64 << 20
    /// After this many consecutive timeouts without a reply the connection counts as dead and is closed.
    public var maximumTimeoutsInARow = 4
    /// The wait between attempts to connect.
    public var backoff = Backoff(base: .milliseconds(50), maximum: .seconds(1))
    /// Called in the caller's task before a command is sent, with its name. The returned function is called when the
    /// command has ended, with the error's code if it failed. For traces.
    public var onCommand: (@Sendable (_ name: String) -> (@Sendable (_ error: String?) -> Void)?)?
    /// What `CLIENT LIST` shows; letters, digits, `-` and `.`.
    public var clientName: String?

    public init(host: String, port: Int = 6379) {
        self.host = host
        self.port = port
        self.database = 0
    }

    /// Reads `redis://[[user]:password@]host[:port][/database]`; `rediss` means TLS. User and password are
    /// percent-encoded. With TLS, `?sslrootcert=FILE` names the authorities to trust.
    ///
    /// - Throws: ``RedisError/Code/invalidConfiguration``, with a message that does not hold the password.
    public init(url: String) throws(RedisError) {
        if Self.namesSeveralHosts(url) {
            throw .invalid("The Redis address names several hosts: give one, which leads to the primary.")
        }
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased() else {
            throw .invalid("The Redis address is no URL.")
        }
        if ["sentinel", "cluster"].contains(where: scheme.contains) {
            throw .invalid(
                "Redis Sentinel and Redis Cluster are not supported: give an address that leads to the primary.")
        }
        guard scheme == "redis" || scheme == "rediss" else {
            throw .invalid("A Redis address starts with redis:// or rediss://.")
        }
        guard let host = parts.host?.trimmingCharacters(in: ["[", "]"]), !host.isEmpty else {
            throw .invalid("The Redis address names no host.")
        }
        self.init(host: host, port: parts.port ?? 6379)
        guard (1...65535).contains(port) else {
            throw .invalid("The Redis address' port is not between 1 and 65535.")
        }
        user = parts.user.flatMap { $0.isEmpty ? nil : $0 }
        password = parts.password.flatMap { $0.isEmpty ? nil : $0 }
        if user != nil, password == nil {
            throw .invalid("The Redis address has a user but no password (a password alone is written :PASSWORD@).")
        }
        database = try Self.database(path: parts.path)
        tls = scheme == "rediss" ? TLS() : nil
        for item in parts.queryItems ?? [] {
            guard item.name == "sslrootcert", scheme == "rediss", let file = item.value, !file.isEmpty else {
                throw .invalid("The Redis address has an option that is not known: \(item.name).")
            }
            tls?.trustRootsFile = file
        }
    }

    /// Whether the connection is protected against an attacker on the network: the server is on this machine, or needs
    /// a certificate for its name.
    public var isProtected: Bool {
        let address = try? SocketAddress(ipAddress: host, port: port)
        let isLocal =
            switch address {
            case .v4: address?.ipAddress?.hasPrefix("127.") == true
            case .v6: address?.ipAddress == "::1"
            default: host == "localhost"
            }
        return isLocal || tls?.verifiesHostname == true
    }

    /// Whether hosts are listed as in `redis://a:1,b:2`. Where the first of several has a port, that is no URL.
    private static func namesSeveralHosts(_ url: String) -> Bool {
        guard let start = url.firstRange(of: "://")?.upperBound,
            !url[..<start].contains(/sentinel|cluster/.ignoresCase())
        else { return false }
        let authority = url[start...].prefix { !"/?#".contains($0) }
        return authority[(authority.lastIndex(of: "@").map(authority.index(after:)) ?? authority.startIndex)...]
            .contains(",")
    }

    private static func database(path: String) throws(RedisError) -> Int {
        let text = path.drop { $0 == "/" }
        if text.isEmpty { return 0 }
        guard let number = Int(text), number >= 0 else {
            throw .invalid("The Redis address' database is no number.")
        }
        return number
    }
}

extension RedisError {
    fileprivate static func invalid(_ message: String) -> RedisError {
        RedisError(.invalidConfiguration, message)
    }
}
