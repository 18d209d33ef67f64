import CLibpq

/// Where PostgreSQL is and how to talk to it.
public struct PostgresConfiguration: Sendable {
    /// The URL as it was given. It may hold a password: never write it to a log.
    let url: String
    /// How long opening a connection may take, TLS and authentication included; 2 s unless set.
    ///
    /// The look-up of the host's name is not bounded by this but by the system's resolver.
    public var connectTimeout: Duration = .seconds(2)
    /// How long a statement may run before the server ends it (`statement_timeout`); 1.5 s unless set, zero for no
    /// limit. A call that names no deadline gives up a quarter of a second later, in case the server is silent.
    public var statementTimeout: Duration = .milliseconds(1500)
    /// How long a statement may wait for a row or table that another transaction holds (`lock_timeout`); 1 s unless
    /// set, zero for no limit.
    public var lockTimeout: Duration = .seconds(1)
    /// How long a transaction may hold its locks while its client says nothing, because it hangs or was stopped
    /// (`idle_in_transaction_session_timeout`); 5 s unless set, zero for no limit.
    public var idleInTransactionTimeout: Duration = .seconds(5)
    /// The name that `pg_stat_activity` shows.
    public var applicationName = "swift"
    /// How many prepared statements a connection keeps; statements beyond are sent unprepared.
    public var preparedStatementLimit = 256

    /// Reads a connection URL as libpq's documentation describes it:
    /// `postgres://user:password@host:5432/database?sslmode=verify-full&sslrootcert=/etc/ca.pem`.
    /// Every parameter is passed on, those for TLS among them.
    ///
    /// - Throws: ``PostgresError`` with code `invalidConfiguration`. The message does not repeat the URL.
    public init(url: String) throws(PostgresError) {
        self.url = url
        guard let options = Self.parse(url) else {
            throw PostgresError(.invalidConfiguration, "not a PostgreSQL connection URL that libpq can read")
        }
        if let name = options["application_name"] { applicationName = name }
    }

    /// When a call that names no deadline gives up.
    var defaultDeadline: ContinuousClock.Instant {
        let timeout = statementTimeout == .zero ? Duration.seconds(3600) : statementTimeout
        return .now + timeout + .milliseconds(250)
    }

    /// The settings for `PQconnectStartParams`: what comes later wins over the URL, which stands under `dbname`.
    var connectionParameters: [(keyword: String, value: String)] {
        let given = Self.parse(url) ?? [:]
        let session = [
            ("statement_timeout", statementTimeout), ("lock_timeout", lockTimeout),
            ("idle_in_transaction_session_timeout", idleInTransactionTimeout),
        ].map { "-c \($0)=\($1.milliseconds)" }
        // What was answered must survive a crash of the server, whatever the default of role, database or server is.
        let fixed = ["-c synchronous_commit=on", "-c TimeZone=UTC", "-c DateStyle=ISO"]
        // The URL's own options come last, so that they win.
        let options = session + fixed + [given["options"]].compactMap(\.self)
        var parameters = [
            ("dbname", url), ("application_name", applicationName), ("client_encoding", "UTF8"),
            ("options", options.joined(separator: " ")),
        ]
        // Looking for a Kerberos ticket costs each connection time and memory; who uses Kerberos says so.
        if given["gssencmode"] == nil { parameters.append(("gssencmode", "disable")) }
        return parameters
    }

    private static func parse(_ url: String) -> [String: String]? {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://"), !url.utf8.contains(0),
            let options = PQconninfoParse(url, nil)
        else { return nil }
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return values
    }
}

extension PostgresConfiguration: CustomStringConvertible, CustomReflectable {
    /// Without the URL, which may hold a password.
    public var description: String { "PostgresConfiguration(\(applicationName))" }
    /// Without the URL, which may hold a password.
    public var customMirror: Mirror { Mirror(self, children: ["applicationName": applicationName]) }
}

extension Duration {
    /// Whole milliseconds, rounded up.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
