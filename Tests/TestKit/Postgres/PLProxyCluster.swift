public import Postgres

/// PostgreSQL servers behind PL/Proxy, as a stand-in for a distributed engine: each function that is distributed runs
/// on the server that has its key.
public struct PLProxyCluster: Sendable {
    /// The database that clients connect to.
    public let url: String
    public let coordinator: PostgresConnection
    public let servers: [PostgresServer]

    /// The server with a key. There are four parts, because PL/Proxy wants a power of two, and the first server has
    /// two.
    public static func server(of key: Int) -> Int { key % 4 % 3 }

    private static func address(_ server: PostgresServer) -> String {
        "host=127.0.0.1 port=\(server.port) dbname=postgres connect_timeout=5"
    }

    fileprivate init(on url: String, of servers: [PostgresServer]) async throws {
        coordinator = try await PostgresConnection.patient(url)
        self.url = url
        self.servers = servers
        let parts = (servers + servers.prefix(1)).enumerated().map { "p\($0) '\(Self.address($1))'" }
        try await coordinator.execute(
            script: """
                CREATE EXTENSION plproxy;
                CREATE SERVER cluster FOREIGN DATA WRAPPER plproxy OPTIONS (\(parts.joined(separator: ", ")));
                CREATE USER MAPPING FOR CURRENT_USER SERVER cluster
                    OPTIONS (user 'postgres', password '\(PostgresServer.password)');
                """)
    }

    /// Distributes the functions whose first parameter has this name.
    ///
    /// - Parameter key: an SQL function of the parameter; `nil` if the parameter is the key.
    /// - Returns: how many functions there are.
    public func distribute(by parameter: String, key: String? = nil) async throws -> Int {
        let target = key.map { "\($0)(\(parameter))" } ?? parameter
        let proxies = try await coordinator.query(
            """
            SELECT format('DROP FUNCTION %I; ', proname) || format(
                'CREATE FUNCTION %I(%s) RETURNS %s LANGUAGE plproxy AS $$ CLUSTER ''cluster''; RUN ON %s; $$',
                proname, pg_get_function_arguments(oid), pg_get_function_result(oid), \(target)::text)
            FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proargnames[1] = \(parameter)
            """
        ).decode(String.self)
        for proxy in proxies { try await coordinator.execute(script: proxy) }
        return proxies.count
    }

    /// Sends what went to `old` to `new` from now on.
    public func replace(_ old: PostgresServer, by new: PostgresServer) async throws {
        let parts = try await coordinator.query(
            """
            SELECT split_part(option, '=', 1) FROM pg_foreign_server, unnest(srvoptions) AS option
            WHERE srvname = 'cluster' AND option LIKE \("%port=\(old.port) %")
            """
        ).decode(String.self)
        for part in parts {
            try await coordinator.execute(
                script: "ALTER SERVER cluster OPTIONS (SET \(part) '\(Self.address(new))')")
        }
    }
}

/// - Parameter prepare: is called for each server, and for the database of the coordinator.
public func withPLProxyCluster(
    prepare: (PostgresConnection) async throws -> Void, _ body: (PLProxyCluster) async throws -> Void
) async throws {
    try await withPostgresServer { first in
        try await withPostgresServer { second in
            try await withPostgresServer { third in
                for server in [first, second, third] {
                    let connection = try await PostgresConnection.patient(server.url())
                    try await prepare(connection)
                    await connection.close()
                }
                try await withDatabase { database in
                    let cluster = try await PLProxyCluster(on: database.url, of: [first, second, third])
                    try await runFinally {
                        try await prepare(cluster.coordinator)
                        try await body(cluster)
                    } finally: {
                        await cluster.coordinator.close()
                    }
                }
            }
        }
    }
}
