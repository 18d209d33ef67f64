import Foundation

/// One of the servers of a connection URL, by libpq's keywords. nil stands for libpq's own default: the Unix socket,
/// and the port 5432.
struct ServerAddress: Sendable, Hashable {
    var host: String?
    var hostaddr: String?
    var port: String?

    /// The name to resolve before libpq connects, because libpq would resolve it without a timeout.
    var unresolvedName: String? {
        guard hostaddr == nil, let host, !host.isPathOfSocket, !host.isNumericAddress else { return nil }
        return host
    }

    /// Whether what is sent to the server stays on this machine.
    var isLocal: Bool {
        if let hostaddr { return hostaddr.isLoopback }
        guard let host else { return true }
        return host.isPathOfSocket || host == "localhost" || host.isLoopback
    }

    /// The network address; nil for a Unix socket.
    var networkAddress: (host: String, port: Int)? {
        guard let named = hostaddr ?? host, !named.isPathOfSocket, let port = Int(port ?? "5432") else { return nil }
        return (named, port)
    }

    /// The servers of libpq's lists of hosts, addresses and ports, in order. One port is the port of all servers. An
    /// empty element stands for libpq's default.
    ///
    /// - Returns: An empty list if the lists differ in length, which libpq refuses.
    static func list(host: String?, hostaddr: String?, port: String?) -> [ServerAddress] {
        func items(_ list: String?) -> [String?] {
            guard let list, !list.isEmpty else { return [] }
            return list.split(separator: ",", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
        }
        let (hosts, addresses, ports) = (items(host), items(hostaddr), items(port))
        let count = max(hosts.count, addresses.count, 1)
        guard [0, count].contains(hosts.count), [0, count].contains(addresses.count),
            [0, 1, count].contains(ports.count)
        else { return [] }
        return (0..<count).map { index in
            ServerAddress(
                host: hosts.isEmpty ? nil : hosts[index], hostaddr: addresses.isEmpty ? nil : addresses[index],
                port: ports.isEmpty ? nil : ports[ports.count == 1 ? 0 : index])
        }
    }
}

/// A running server.
struct ServerInstance: Sendable, Hashable {
    /// The address at which it was reached.
    let address: ServerAddress
    /// When it was started, in microseconds since 1970 by its own clock. It distinguishes two servers even if one took
    /// the other's address. It is the same at each address of a server.
    let startedAt: Int64
}

/// Which servers are tried, and in which order.
struct ServerOrder: Sendable {
    var first: ServerAddress?
    var last: Set<ServerAddress> = []

    func applied(to servers: [ServerAddress]) -> [ServerAddress] {
        servers.filter { $0 == first } + servers.filter { $0 != first && !last.contains($0) }
            + servers.filter { $0 != first && last.contains($0) }
    }
}

extension PostgresError {
    /// The server holds connections whose statements were given up, up to the maximum of the pool.
    static var noOtherServer: PostgresError {
        PostgresError(
            .connectionFailed,
            "the server has not answered statements that were given up, and the address leads to no other server")
    }
}

extension String {
    /// As libpq distinguishes a host's name from the folder or abstract name of a Unix socket.
    fileprivate var isPathOfSocket: Bool { hasPrefix("/") || hasPrefix("@") }

    fileprivate var isNumericAddress: Bool {
        var address = in_addr()
        return contains(":") || inet_pton(AF_INET, self, &address) == 1
    }

    fileprivate var isLoopback: Bool {
        var address = in_addr()
        if inet_pton(AF_INET, self, &address) == 1 { return UInt32(bigEndian: address.s_addr) >> 24 == 127 }
        var address6 = in6_addr()
        guard inet_pton(AF_INET6, self, &address6) == 1 else { return false }
        return withUnsafeBytes(of: address6) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
    }
}
