import Foundation
@testable import Postgres
import TestKit
import Testing

/// Connects by URLs that name several servers. Each of them must be reached as libpq would reach it by the whole list.
@Suite struct ServerListTests {
    @Test func onePortServesAllHosts() async throws {
        try await withPostgresServer { server in
            // The server listens at 127.0.0.1 only.
            let port = server.port
            try await expect(port, at: "127.0.0.2,127.0.0.1", "port=\(port)")
            try await expect(port, at: "127.0.0.1,127.0.0.2", "port=\(port)")
        }
    }

    @Test func eachHostHasItsOwnPort() async throws {
        try await withPostgresServer { server in
            let (port, free) = (server.port, try freePort())
            try await expect(port, at: "127.0.0.1:\(free),127.0.0.1:\(port)")
            try await expect(port, at: "127.0.0.1:\(port),127.0.0.1:\(free)")
        }
    }

    /// The first host is a folder with a socket at the default port.
    @Test func aHostWithoutAPortIsReachedAtTheDefault() async throws {
        try await withServerAtDefaultPort { folder, server in
            try await expect(nil, at: "\(folder),127.0.0.1:\(server.port)")
            try await expect(nil, at: "\(folder),127.0.0.1")
            try await expect(nil, at: "host.invalid,\(folder)")
            try await expect(server.port, at: "127.0.0.1:\(server.port),\(folder)")
        }
    }

    @Test func listsOfAddressesLeadToTheServers() async throws {
        try await withServerAtDefaultPort { folder, server in
            let port = server.port
            try await expect(port, at: "a,b:\(port)", "hostaddr=127.0.0.2,127.0.0.1")
            try await expect(port, at: "a,b", "hostaddr=127.0.0.2,127.0.0.1&port=\(port)")
            try await expect(port, at: "", "hostaddr=127.0.0.2,127.0.0.1&port=\(port)")
            // The first has no address.
            try await expect(nil, at: "\(folder),b:\(port)", "hostaddr=,127.0.0.1")
        }
    }

    @Test(.enabled("this machine has no IPv6") { isIPv6Available })
    func addressesOfIPv6StandInBrackets() async throws {
        try await withPostgresServer(settings: ["listen_addresses=127.0.0.1,::1"]) { server in
            let (port, free) = (server.port, try freePort())
            try await expect(port, at: "[::1]:\(free),[::1]:\(port)")
            try await expect(port, at: "[::1],127.0.0.2", "port=\(port)")
            try await expect(port, at: "[::1]", "port=\(port)")
        }
    }

    @Test func theEnvironmentSaysWhatTheURLDoesNot() async throws {
        try await withServerAtDefaultPort { folder, server in
            await #expect(processExitsWith: .success) { [port = server.port as Int, folder = folder as String] in
                setenv("PGPORT", "\(port)", 1)
                try #require(try await reached("127.0.0.1") == port)
                try #require(try await reached("", "host=127.0.0.2,127.0.0.1") == port)
                // Where the URL has a list of hosts, a host without a port has the default, as in libpq.
                try #require(try await reached("\(folder),127.0.0.2") == nil)
                setenv("PGHOST", "127.0.0.2,127.0.0.1", 1)
                try #require(try await reached("") == port)
                setenv("PGPORT", ",\(port)", 1)
                try #require(try await reached("") == port)
                setenv("PGHOST", "\(folder.removingPercentEncoding ?? ""),127.0.0.1", 1)
                try #require(try await reached("") == nil)
                setenv("PGHOSTADDR", "127.0.0.2,127.0.0.1", 1)
                try #require(try await reached("") == port)
            }
        }
    }

    @Test func valuesReachLibpqAsTheyAre() async throws {
        try await withDatabase { database in
            let (role, password) = ("role \(UUID())", #"it's \a "secret" = postgres://"#)
            let literal = password.replacing("'", with: "''")
            try await database.pool.query(
                "CREATE ROLE \"\(unescaped: role)\" LOGIN PASSWORD '\(unescaped: literal)'")
            try await runFinally {
                var url = try #require(URLComponents(string: database.url))
                (url.user, url.password) = (role, password)
                url.queryItems = [URLQueryItem(name: "application_name", value: #"a\'b c"#)]
                let connection = try await PostgresConnection.patient(try #require(url.string))
                let names = try await connection.query("SELECT current_user::text, current_setting('application_name')")
                #expect(try names[0].decode((String, String).self) == (role, #"a\'b c"#))
                await connection.close()
            } finally: {
                _ = try? await database.pool.query("DROP ROLE \"\(unescaped: role)\"")
            }
        }
    }

    /// - Parameter body: receives the percent-encoded folder of the server's socket at the port 5432.
    private func withServerAtDefaultPort(
        _ body: (_ folder: String, _ server: PostgresServer) async throws -> Void
    ) async throws {
        let folder = URL(filePath: "/tmp/gatehouse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withPostgresServer(settings: ["unix_socket_directories=\(folder.path)"]) { server in
            try FileManager.default.createSymbolicLink(
                atPath: folder.appending(path: ".s.PGSQL.5432").path,
                withDestinationPath: ".s.PGSQL.\(server.port)")
            try await body(folder.path.replacing("/", with: "%2F"), server)
        }
    }

    private func expect(
        _ port: Int?, at hosts: String, _ options: String = "", sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let found = try await reached(hosts, options)
        #expect(found == port, sourceLocation: sourceLocation)
    }

    private static var isIPv6Available: Bool {
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
            }
        }
    }
}

/// Connects, and returns the server's port; nil for a Unix socket.
private func reached(_ hosts: String, _ options: String = "") async throws -> Int? {
    let password = PostgresServer.password.replacing(" ", with: "%20")
    let connection = try await PostgresConnection.patient(
        "postgres://postgres:\(password)@\(hosts)/postgres?\(options)")
    let port = try await connection.query("SELECT inet_server_port()")[0].decode(Int32?.self)
    await connection.close()
    return port.map(Int.init)
}
