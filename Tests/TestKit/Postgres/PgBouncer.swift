import Foundation

/// Runs `body` with the test's own PgBouncer, in transaction mode, in front of a database's server.
///
/// - Parameters:
///   - url: the database's URL, with host, port, user and password.
///   - sessions: the number of server sessions that all clients share.
///   - settings: further lines for its section `[pgbouncer]`.
///   - body: receives the database's URL through PgBouncer.
public func withPgBouncer<Value: Sendable>(
    for url: String, sessions: Int = 2, settings: [String] = [], isolation: isolated (any Actor)? = #isolation,
    _ body: (_ url: String) async throws -> Value
) async throws -> Value {
    guard var address = URLComponents(string: url), let host = address.host, let server = address.port,
        let user = address.user, let password = address.password
    else { throw TestKitError("PgBouncer needs an address with host, port, user and password.") }
    let folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-pgbouncer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let users = folder.appending(path: "users.txt")
    try Data("\"\(user)\" \"\(password)\"\n".utf8).write(to: users)
    let port = try freePort()
    let configuration = folder.appending(path: "pgbouncer.ini")
    let lines =
        [
            "[databases]", "* = host=\(host) port=\(server)", "[pgbouncer]", "pool_mode = transaction",
            "listen_addr = 127.0.0.1", "listen_port = \(port)", "unix_socket_dir =", "auth_type = trust",
            "auth_file = \(users.path)", "default_pool_size = \(sessions)", "max_client_conn = 200",
        ] + settings
    try Data(lines.joined(separator: "\n").utf8).write(to: configuration)
    let log = folder.appending(path: "pgbouncer.log")
    let process = try PostgresProgram.runAsPostgres("/usr/sbin/pgbouncer", [configuration.path], output: log)
    return try await runFinally {
        try await eventually("pgbouncer listens") {
            guard process.isRunning else {
                throw TestKitError("pgbouncer ended: \((try? String(contentsOf: log, encoding: .utf8)) ?? "")")
            }
            return isListening(onPort: port)
        }
        address.port = port
        return try await body(address.string ?? "")
    } finally: {
        await process.kill9()
    }
}
