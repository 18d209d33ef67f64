import Foundation
public import Postgres
public import ServiceKit

extension Examination {
    /// Looks at a service's database, and at the certificates of its servers.
    ///
    /// - Parameters:
    ///   - migrations: those that the service's program knows.
    ///   - further: what else to ask, on the same connection.
    public func database(
        of service: String, _ configuration: DatabaseConfiguration, migrations: [PostgresMigration],
        _ further: (PostgresConnection) async throws -> [Finding] = { _ in [] }
    ) async -> [Finding] {
        var findings = await answer(of: service, configuration, migrations, further)
        for server in configuration.connection.verifiedServers {
            findings += await certificate(
                of: TLSServer("PostgreSQL", host: server.host, port: server.port, greeting: .postgres))
        }
        return findings
    }

    private func answer(
        of service: String, _ configuration: DatabaseConfiguration, _ migrations: [PostgresMigration],
        _ further: (PostgresConnection) async throws -> [Finding]
    ) async -> [Finding] {
        do {
            let connection = try await PostgresConnection.connect(configuration.connection)
            let findings: Result<[Finding], any Error>
            do {
                let facts = try await DatabaseFacts(
                    of: connection, configuration,
                    PostgresMigrator(migrations: migrations, logger: logger))
                findings = .success(facts.findings(of: service) + (try await further(connection)))
            } catch {
                findings = .failure(error)
            }
            await connection.close()
            return try findings.get()
        } catch {
            let remedy = """
                Are address, role, password and certificate in \(service.uppercased())_DATABASE_URL right, is the \
                server a primary, and may this machine connect to it?
                """
            let why = (error as? PostgresError)?.words ?? "\(error)"
            return [.problem("PostgreSQL cannot be used: \(why).", remedy: remedy)]
        }
    }
}

extension DatabaseFacts {
    /// - Throws: `PostgresError`
    init(
        of connection: PostgresConnection, _ configuration: DatabaseConfiguration, _ migrator: PostgresMigrator
    ) async throws {
        let sent = Date.now
        let clock = try await connection.query("SELECT clock_timestamp()")[0].decode(Date.self)
        let middle = sent.addingTimeInterval(Date.now.timeIntervalSince(sent) / 2)
        let rows = try await connection.query(
            """
            SELECT current_setting('server_version'), current_setting('server_version_num')::bigint,
                COALESCE((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
                ARRAY(SELECT name FROM pg_settings
                    WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name),
                current_setting('max_connections')::bigint
                    - current_setting('superuser_reserved_connections')::bigint,
                -- What kind of process each is, is shown of one's own role alone.
                (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL),
                (SELECT NULLIF(rolconnlimit, -1)::bigint FROM pg_roles WHERE rolname = session_user),
                (SELECT count(*) FROM pg_stat_activity WHERE usename = session_user),
                (SELECT max(age(datfrozenxid))::bigint FROM pg_database),
                (SELECT extract(epoch FROM statement_timestamp() - min(prepared))::double precision
                    FROM pg_prepared_xacts)
            """)
        let (version, number, isEncrypted, off, maximum, connections, roleLimit, roleConnections, age, prepared) =
            try rows[0].decode((String, Int, Bool, [String], Int, Int, Int?, Int, Int, Double?).self)
        self.init(
            version: version, versionNumber: number, ahead: clock.timeIntervalSince(middle), isEncrypted: isEncrypted,
            needsEncryption: configuration.isProduction && !configuration.connection.staysOnThisMachine, off: off,
            maximumConnections: maximum, connections: connections, roleLimit: roleLimit,
            roleConnections: roleConnections,
            poolConnections: configuration.pool.maximumConnections,
            transactionAge: age, preparedTransactionAge: prepared,
            migrations: try await migrator.status(on: connection))
    }
}
