import Foundation
public import GatehouseServiceKit
public import Postgres

/// The state of a PostgreSQL server and of a service's database, and its findings.
struct DatabaseFacts: Sendable, Equatable {
    /// For example `15.4`.
    var version: String
    /// 150004 for 15.4.
    var versionNumber: Int
    /// Seconds that the server's clock is ahead of this machine's.
    var ahead: TimeInterval
    var isEncrypted: Bool
    /// Whether encryption is required: in production, for a server on another machine.
    var needsEncryption: Bool
    /// Disabled settings without which committed data may not survive a crash.
    var off: [String]
    var maximumConnections: Int
    /// Connections that all clients have open now.
    var connections: Int
    /// `CONNECTION LIMIT` of the role that signs in; `nil` if it has none.
    var roleLimit: Int?
    /// Connections that this role has open now.
    var roleConnections: Int
    /// The maximum of the service's pool in one replica.
    var poolConnections: Int
    /// Addresses from which replicas of the service have connections open now. Fewer than the replicas if these share
    /// an address, or if they connect through a pooler.
    var replicas: Int
    /// The age of the oldest transaction number. At 2,000,000,000 PostgreSQL stops accepting writes.
    var transactionAge: Int
    /// Seconds since the oldest prepared transaction was prepared.
    var preparedTransactionAge: TimeInterval?
    var migrations: [PostgresMigrationStatus]
    var files: [PostgresSQLFileStatus]

    /// - Parameter service: the service that owns the database.
    func findings(of service: String) -> [Finding] {
        let state = "PostgreSQL \(version) takes writes\(isEncrypted ? ", over TLS" : "")."
        return [versionNumber < 140_000 ? tooOld : .fine(state)] + migrationFindings(service)
            + [
                encryption(service), ClockFinding.finding("PostgreSQL", ahead: ahead), durability, room(service),
                roleRoom(service), wraparound, prepared,
            ]
            .compactMap(\.self)
    }

    private var tooOld: Finding {
        .problem("PostgreSQL is version \(version).", remedy: "Gatehouse needs 14 or later.")
    }

    private func encryption(_ service: String) -> Finding? {
        guard needsEncryption, !isEncrypted else { return nil }
        let setting = "\(service.uppercased())_DATABASE_URL"
        return .problem(
            "PostgreSQL connections do not use TLS: an attacker on the network can read and change the data.",
            remedy: "Add sslmode=verify-full and sslrootcert to \(setting) (docs/operations/managed-databases.md).")
    }

    private func migrationFindings(_ service: String) -> [Finding] {
        func list(_ state: PostgresMigrationState) -> String? {
            let names =
                migrations.filter { $0.state == state }.map(\.description)
                + files.filter { $0.state == state }.map(\.description)
            return names.isEmpty ? nil : names.joined(separator: ", ")
        }
        var findings: [Finding] = []
        if let replaced = list(.replaced) {
            findings.append(
                .problem(
                    "The database has migrations that this version has replaced: \(replaced).",
                    remedy: "Run `\(service) migrate up`: it changes nothing, and prints the way to a new database."))
        }
        if let pending = list(.pending) {
            findings.append(
                .problem("The database lacks migrations: \(pending).", remedy: "Run `\(service) migrate up`."))
        }
        if let changed = list(.changed) {
            findings.append(
                .problem(
                    "Migrations were changed after they had been applied: \(changed).",
                    remedy: "Use the build that they came from. A released migration never changes."))
        }
        if let unknown = list(.unknown) {
            findings.append(
                .warning(
                    "The database has migrations of a newer version: \(unknown).",
                    remedy: "Fine during a roll-out, and after going back by one version."))
        }
        if findings.isEmpty { findings.append(.fine("All \(migrations.count + files.count) migrations are applied.")) }
        return findings
    }

    private var durability: Finding? {
        guard !off.isEmpty else { return nil }
        let settings = off.map { "\($0)=off" }.joined(separator: ", ")
        return .problem(
            "PostgreSQL runs with \(settings): a crash of its machine may lose or damage what was committed.",
            remedy: "Switch it on in postgresql.conf, and reload.")
    }

    /// Counts one additional replica, because a rolling update starts one.
    private func room(_ service: String) -> Finding? {
        let free = maximumConnections - connections
        guard free < poolConnections else { return nil }
        let text = """
            PostgreSQL has \(connections) of \(maximumConnections) connections open, and a further replica of \
            \(service) may need \(poolConnections).
            """
        let remedy = """
            Raise max_connections, lower \(service.uppercased())_DATABASE_MAXIMUM_CONNECTIONS, or use a pooler \
            (docs/operations/managed-databases.md).
            """
        return free <= 0 ? .problem(text, remedy: remedy) : .warning(text, remedy: remedy)
    }

    /// Without a limit, one service can use the connections of all services.
    private func roleRoom(_ service: String) -> Finding? {
        let remedy = """
            ALTER ROLE … CONNECTION LIMIT, to what all replicas need and one more while the service is rolled out \
            (docs/operations/managed-databases.md).
            """
        guard let roleLimit, roleLimit < maximumConnections else {
            return .warning(
                "The role of \(service) may open all \(maximumConnections) connections of PostgreSQL.",
                remedy: remedy)
        }
        let free = roleLimit - roleConnections
        let replicas = max(self.replicas, 1)
        let needed = (replicas + 1) * poolConnections + 4
        guard free < poolConnections || roleLimit < needed else { return nil }
        let text = """
            The role of \(service) has \(roleConnections) of its \(roleLimit) connections open. With the \(replicas) \
            \(replicas == 1 ? "replica" : "replicas") seen now, one more and `migrate` it may need \(needed).
            """
        return free <= 0 ? .problem(text, remedy: remedy) : .warning(text, remedy: remedy)
    }

    private var wraparound: Finding? {
        // PostgreSQL freezes rows by itself at an age of 200 million (autovacuum_freeze_max_age). So autovacuum has
        // failed for a long time.
        guard transactionAge > 1_000_000_000 else { return nil }
        return .problem(
            "PostgreSQL's oldest transaction number is \(transactionAge) old: at 2,000,000,000 it takes no writes.",
            remedy: "Find what keeps VACUUM from working: an old or a prepared transaction, a replication slot.")
    }

    private var prepared: Finding? {
        guard let preparedTransactionAge, preparedTransactionAge > 3600 else { return nil }
        let age = KeyAge.days(preparedTransactionAge)
        return .warning(
            "A prepared transaction has been left open for \(age): VACUUM does not work.",
            remedy: "End it with COMMIT PREPARED or ROLLBACK PREPARED: pg_prepared_xacts shows its owner.")
    }
}

extension Examination {
    /// Examines a service's database and the certificates of its servers.
    ///
    /// - Parameters:
    ///   - migrations: the migrations of the service's program.
    ///   - further: additional checks on the same connection.
    public func database(
        of service: String, _ configuration: DatabaseConfiguration, migrations: PostgresMigrations,
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
        of service: String, _ configuration: DatabaseConfiguration, _ migrations: PostgresMigrations,
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
            SELECT current_setting('server_version') AS version,
                current_setting('server_version_num')::bigint AS version_number,
                COALESCE((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted,
                ARRAY(SELECT name FROM pg_settings
                    WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name) AS off,
                current_setting('max_connections')::bigint
                    - current_setting('superuser_reserved_connections')::bigint AS maximum_connections,
                -- What kind of process each is, is shown of one's own role alone.
                (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL) AS connections,
                (SELECT NULLIF(rolconnlimit, -1)::bigint FROM pg_roles WHERE rolname = session_user) AS role_limit,
                (SELECT count(*) FROM pg_stat_activity WHERE usename = session_user) AS role_connections,
                -- Those of psql have another name.
                (SELECT count(DISTINCT client_addr) FROM pg_stat_activity
                    WHERE usename = session_user AND application_name = current_setting('application_name')
                    AND pid <> pg_backend_pid()) AS replicas,
                (SELECT max(age(datfrozenxid))::bigint FROM pg_database) AS transaction_age,
                (SELECT extract(epoch FROM statement_timestamp() - min(prepared))::double precision
                    FROM pg_prepared_xacts) AS prepared_age
            """)
        let row = rows[0]
        self.init(
            version: try row.decode("version"), versionNumber: try row.decode("version_number"),
            ahead: clock.timeIntervalSince(middle), isEncrypted: try row.decode("is_encrypted"),
            needsEncryption: configuration.isProduction && !configuration.connection.isLocal,
            off: try row.decode("off"), maximumConnections: try row.decode("maximum_connections"),
            connections: try row.decode("connections"), roleLimit: try row.decode("role_limit"),
            roleConnections: try row.decode("role_connections"),
            poolConnections: configuration.pool.maximumConnections, replicas: try row.decode("replicas"),
            transactionAge: try row.decode("transaction_age"),
            preparedTransactionAge: try row.decode("prepared_age"),
            migrations: try await migrator.status(on: connection), files: try await migrator.fileStatus(on: connection))
    }
}
