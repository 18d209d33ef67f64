import GatehouseLimits

/// The connection pooler between this process and PostgreSQL, if any.
public enum PostgresPooler: String, Sendable, CaseIterable {
    /// No pooler that shares one session of the server among several clients.
    case none
    /// A pooler, such as PgBouncer, that assigns a session for one transaction at a time. Statements are then not
    /// prepared, and each transaction sets its own settings. Features that need a session do not work: migrations,
    /// session-level advisory locks, `LISTEN`.
    case transaction
}

/// The configuration of a connection to PostgreSQL.
public struct PostgresConfiguration: Sendable {
    /// The parameters for libpq, by its keywords: from the URL, or else from the environment (`PGHOSTADDR`, `PGSSLMODE`
    /// and so on, or the file of `PGSERVICE`). Without libpq's own defaults. They may hold a password: never write them
    /// to a log.
    private let parameters: [String: String]
    /// `options` of the URL.
    private let options: String?
    /// The servers that `parameters` names, in order. Empty where the lists of the environment differ in length.
    let servers: [ServerAddress]
    /// Whether only a server that accepts writes is used: no standby, and no read-only server. As with
    /// `target_session_attrs=read-write` in the URL.
    public var needsPrimary = false
    /// The pooler between this process and the server; default none. If a pooler is not configured here, opening a
    /// connection detects and refuses it.
    public var pooler = PostgresPooler.none
    /// How long opening a connection may take, from looking up names to authentication; 2 s unless set. If the URL
    /// names several servers, or a name has several addresses, each gets an equal share of the remaining time. So a
    /// server that hangs does not prevent the attempts at the others.
    public var connectTimeout: Duration = .seconds(2)
    /// How long a statement may run before the server ends it (`statement_timeout`); 1.5 s unless set, zero for no
    /// limit. A call without a deadline times out a quarter of a second later, in case the server does not respond.
    public var statementTimeout: Duration = .milliseconds(1500)
    /// How long a statement may wait for a row or table that another transaction holds (`lock_timeout`); 1 s unless
    /// set, zero for no limit.
    public var lockTimeout: Duration = .seconds(1)
    /// How long a transaction may hold its locks while its client sends nothing, because it hangs or was stopped
    /// (`idle_in_transaction_session_timeout`); 5 s unless set, zero for no limit.
    public var idleInTransactionTimeout: Duration = .seconds(5)
    /// Whether a prepared statement, also one inside a function, keeps one plan for all values (`plan_cache_mode`);
    /// false unless set. Without it PostgreSQL plans each execution on a partitioned table anew, because it expects a
    /// plan for all values to read every partition.
    public var usesGenericPlans = false
    /// The name that `pg_stat_activity` shows.
    public var applicationName = "swift"
    /// Called when the operation has ended, with SQLSTATE or kind of the error if it failed.
    public typealias ObserverEnd = @Sendable (_ error: String?) -> Void
    /// Called in the caller's task when a statement is about to be sent, with its SQL (`$1` in place of a value). For
    /// traces.
    public var onStatement: (@Sendable (_ sql: String) -> ObserverEnd?)?
    /// Called in the caller's task when it has to wait for a connection of the pool. For traces.
    public var onWait: (@Sendable () -> ObserverEnd?)?
    /// How many prepared statements a connection keeps. Further statements are sent unprepared.
    public var preparedStatementLimit = 256

    /// Reads a connection URL as libpq's documentation describes it:
    /// `postgres://user:password@host:5432/database?sslmode=verify-full&sslrootcert=/etc/ca.pem`. Every parameter is
    /// passed to libpq, including those for TLS. `service` is refused, because a file would then name the server.
    ///
    /// Several servers are named as in `host1:port1,host2:port2`. A host of such a list without a port of its own has
    /// the port 5432, as in libpq. `?port=` with one port sets the port of all hosts.
    ///
    /// - Throws: ``PostgresError`` with code `invalidConfiguration`. The message does not repeat the URL.
    public init(url: String) throws(PostgresError) {
        guard let named = LibpqOptions.of(url: url) else {
            throw PostgresError(.invalidConfiguration, "not a PostgreSQL connection URL that libpq can read")
        }
        guard named["service"] == nil else {
            throw PostgresError(.invalidConfiguration, "the URL names a service in place of a server")
        }
        self.init(named: named)
        guard !servers.isEmpty else {
            throw PostgresError(
                .invalidConfiguration, "the URL and the environment name different numbers of hosts, addresses or ports"
            )
        }
    }

    /// The server that libpq uses without a URL: on this machine, unless the environment names another.
    public init() {
        self.init(named: [:])
    }

    private init(named: [String: String]) {
        let parameters = LibpqOptions.ofEnvironment().merging(named) { $1 }
        self.parameters = parameters
        options = named["options"]
        servers = ServerAddress.list(
            host: parameters["host"], hostaddr: parameters["hostaddr"], port: parameters["port"])
        if let name = named["application_name"] { applicationName = name }
        if ["read-write", "primary"].contains(parameters["target_session_attrs"]) { needsPrimary = true }
    }

    /// The server's name or address; nil where the URL names several or none.
    public var serverName: String? { servers.count == 1 ? servers[0].host : nil }

    /// Whether connections are protected against an attacker on the network: every server is on this machine, or needs
    /// a certificate (`sslmode=verify-full`, or `verify-ca`).
    public var isProtected: Bool {
        isLocal || ["verify-full", "verify-ca"].contains(parameters["sslmode"])
    }

    /// Whether all servers are on this machine.
    public var isLocal: Bool { servers.allSatisfy(\.isLocal) }

    /// The network addresses of the servers that need a verified certificate. Empty if certificates are not verified.
    public var verifiedServers: [(host: String, port: Int)] {
        let mode = parameters["sslmode"]
        // With `sslrootcert`, libpq verifies the certificate for `require` as well.
        guard mode == "verify-full" || mode == "verify-ca" || mode == "require" && parameters["sslrootcert"] != nil
        else { return [] }
        return servers.compactMap(\.networkAddress)
    }

    /// The deadline of a call that names none: that of the current work, or the statement time-out.
    var defaultDeadline: ContinuousClock.Instant {
        if let current = Deadline.current { return current.forDatabase.instant }
        let timeout = statementTimeout == .zero ? Duration.seconds(3600) : statementTimeout
        return .now + timeout + .milliseconds(250)
    }

    /// The settings of each session, or of each transaction behind a pooler.
    private var sessionSettings: [(name: String, value: String)] {
        [
            ("statement_timeout", "\(statementTimeout.milliseconds)"), ("lock_timeout", "\(lockTimeout.milliseconds)"),
            ("idle_in_transaction_session_timeout", "\(idleInTransactionTimeout.milliseconds)"),
            // A committed transaction must survive a crash of the server, regardless of the defaults of role, database
            // and server.
            ("synchronous_commit", "on"), ("TimeZone", "UTC"), ("DateStyle", "ISO"),
        ] + (usesGenericPlans ? [("plan_cache_mode", "force_generic_plan")] : [])
    }

    /// Applies ``sessionSettings`` until the end of the transaction; nil if the session itself has them.
    var transactionSettings: PostgresQuery? {
        guard pooler == .transaction else { return nil }
        let settings = sessionSettings.map { "set_config('\($0.name)', '\($0.value)', true)" }
        return PostgresQuery(unsafe: "SELECT \(settings.joined(separator: ", "))")
    }

    /// The parameters of a connection to one server, by libpq's keywords.
    ///
    /// - Parameter mark: a value that marks the session. If the session lacks it, the settings have not arrived.
    func connectionParameters(
        for server: ServerAddress, mark: String
    ) throws(PostgresError) -> [String: String] {
        // The kernel detects within four seconds a host that disappeared without a reset. Looking for a Kerberos ticket
        // costs each connection time and memory: operators who use Kerberos enable it.
        var given = [
            "tcp_user_timeout": "3000", "keepalives_idle": "2", "keepalives_interval": "1", "gssencmode": "disable",
        ].merging(parameters) { $1 }
        given["application_name"] = applicationName
        given["client_encoding"] = "UTF8"
        // An empty value stands for libpq's default. Without it libpq would use the lists of the environment.
        given["host"] = server.host ?? ""
        given["hostaddr"] = server.hostaddr ?? ""
        given["port"] = server.port ?? ""
        // ``PostgresConnection`` checks this by a query, which also works behind a pooler.
        if needsPrimary { given["target_session_attrs"] = "any" }
        switch pooler {
        case .none:
            let settings = (sessionSettings + [(Self.markName, mark)]).map { "-c \($0.name)=\($0.value)" }
            // The URL's own options come last, so that they win.
            given["options"] = (settings + [options].compactMap(\.self)).joined(separator: " ")
        case .transaction:
            guard parameters["options"] == nil else {
                throw PostgresError(
                    .invalidConfiguration,
                    "the address or PGOPTIONS has options, which do not reach the server through a pooler")
            }
        }
        return given
    }

    static let markName = "swift_postgres.session"
}

extension PostgresConfiguration: CustomStringConvertible, CustomReflectable {
    /// Without the parameters, which may hold a password.
    public var description: String { "PostgresConfiguration(\(applicationName))" }
    /// Without the parameters, which may hold a password.
    public var customMirror: Mirror { Mirror(self, children: ["applicationName": applicationName]) }
}

extension Duration {
    /// Whole milliseconds, rounded up.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
