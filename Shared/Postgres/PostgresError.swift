import GatehouseThreads

/// An error of a connection to PostgreSQL or of a statement.
///
/// The message is for operators: it may name tables, hosts and roles, never a password, and must not be shown to users.
/// It omits PostgreSQL's DETAIL, which repeats the values of rows.
public struct PostgresError: Error, Sendable {
    /// The kind of failure. Open: later versions may add kinds.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind, as it appears in logs and metrics.
        public let description: String

        init(_ description: String) {
            self.description = description
        }

        /// The URL could not be read.
        public static let invalidConfiguration = Code("invalid_configuration")
        /// No connection could be opened: unreachable, refused, wrong password, no such database.
        public static let connectionFailed = Code("connection_failed")
        /// The connection ended while it was in use.
        public static let connectionLost = Code("connection_lost")
        /// The connection, pool or transaction had been closed before.
        public static let closed = Code("closed")
        /// The deadline passed. If a statement was running, its connection has been closed.
        public static let timedOut = Code("timed_out")
        /// The task was cancelled. If a statement was running, its connection has been closed.
        public static let cancelled = Code("cancelled")
        /// No connection became free in time, or too many callers were already waiting for one.
        public static let poolExhausted = Code("pool_exhausted")
        /// The server refused or failed the statement; ``PostgresError/sqlState`` says why.
        public static let server = Code("server")
        /// A transaction body returned although one of its statements had failed: nothing was committed.
        public static let transactionAborted = Code("transaction_aborted")
        /// A value could not be written as a parameter.
        public static let encoding = Code("encoding")
        /// A column could not be read as the requested type.
        public static let decoding = Code("decoding")
        /// The migrations in the program and in the database do not fit together.
        public static let migration = Code("migration")
    }

    /// Why a connection could not be opened, or ended.
    public enum Reason: Sendable {
        /// No server listens at the address.
        case refused
        /// The host's name does not resolve.
        case unknownHost
        case unreachable
        /// The certificate has expired, or its authority is not trusted.
        case untrustedCertificate
        case certificateOfOtherHost
        case noTLS
        /// The server, or the network, ended the connection.
        case closedByPeer
        /// The file in `sslrootcert` cannot be read.
        case unreadableRootCertificates
        /// A pooler stands between, and the configuration does not name it.
        case unknownPooler
    }

    /// The kind of failure.
    public let code: Code
    /// Why the connection failed, if that is known and ``sqlState`` does not say it.
    public let reason: Reason?
    /// PostgreSQL's five-character code, if the server gave one.
    public let sqlState: SQLState?
    /// The constraint that refused the statement, if any.
    public let constraint: String?
    /// What happened, for operators.
    public let message: String
    /// Whether the statement may have taken effect: it was sent, and no answer came. Before it repeats a statement that
    /// is not idempotent, the caller must check the data.
    public let outcomeIsUnknown: Bool
    /// The error that caused this one, if any.
    public let underlying: (any Error)?

    /// For a caller's own types that are read from columns or written as parameters: ``Code/decoding``,
    /// ``Code/encoding``.
    public init(
        _ code: Code, _ message: String, reason: Reason? = nil, sqlState: SQLState? = nil, constraint: String? = nil,
        outcomeIsUnknown: Bool = false, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.reason = reason
        self.sqlState = sqlState
        self.constraint = constraint
        self.message = message
        self.outcomeIsUnknown = outcomeIsUnknown
        self.underlying = underlying
    }

    /// Whether PostgreSQL is unavailable, overloaded or too slow, so that the caller should answer "try again later"
    /// (HTTP 503) instead of an internal error.
    public var isUnavailable: Bool {
        switch code {
        case .connectionFailed, .connectionLost, .closed, .timedOut, .poolExhausted: true
        case .server: sqlState?.meansUnavailable ?? false
        default: false
        }
    }

    /// Whether the cause may be a row or a value of the statement, so that the same statement without it would succeed:
    /// PostgreSQL is available, and neither the schema nor a privilege is at fault (class 42).
    public var mayConcernRow: Bool {
        switch code {
        case .encoding: true
        case .server: !isUnavailable && sqlState?.classCode != "42"
        default: false
        }
    }
}

extension PostgresError: CustomStringConvertible {
    /// Code, SQLSTATE and message, in one line.
    public var description: String {
        "postgres \(code)\(sqlState.map { " (SQLSTATE \($0))" } ?? ""): \(message)"
    }
}

extension PostgresError {
    /// Why no connection could be opened, with each server's own failure.
    init(connecting failures: [PostgresError]) {
        guard let first = failures.first, failures.count > 1 else {
            self = failures.first ?? PostgresError(.connectionFailed, "the address names no server")
            return
        }
        let isSame = failures.allSatisfy { $0.code == first.code }
        self.init(
            failures.contains { $0.code == .cancelled } ? .cancelled : isSame ? first.code : .connectionFailed,
            failures.map(\.message).joined(separator: "; "), reason: failures.lazy.compactMap(\.reason).first,
            sqlState: failures.lazy.compactMap(\.sqlState).first, outcomeIsUnknown: false)
    }

    /// A connection and the lookup of its name each need a thread.
    init(noThread error: SystemThreadError) {
        self.init(.connectionFailed, "\(error)", underlying: error)
    }

    /// This error of a statement, where the connection ended with it. A server that is dying reports whatever it ran
    /// into first (`XX000`, for example), so the statement need not be the cause.
    var endingConnection: PostgresError {
        guard code == .server, !isUnavailable else { return self }
        return PostgresError(.connectionLost, message, sqlState: sqlState, outcomeIsUnknown: true)
    }

    /// Whether the connection of the error is no longer usable.
    var endsSession: Bool {
        [.cancelled, .timedOut, .connectionLost].contains(code) || sqlState?.endsSession == true
    }

    /// Whether this side stopped waiting for an answer.
    var isGivenUp: Bool { code == .timedOut || code == .cancelled }

    /// The message for a pooler that is not configured.
    static let unknownPooler = """
        the session's settings did not arrive: a pooler stands between, which the configuration has to say \
        (pooler: transaction)
        """
}

/// PostgreSQL's five-character error code (PostgreSQL documentation, appendix A).
public struct SQLState: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The five characters.
    public let description: String

    /// Any code, including one that is not named here.
    public init(_ code: String) {
        description = code
    }

    /// Any code, including one that is not named here.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The first two characters, which name the class.
    public var classCode: String {
        String(description.prefix(2))
    }

    /// A unique index refused the row.
    public static let uniqueViolation: SQLState = "23505"
    /// Two serializable transactions collided; repeat the whole transaction.
    public static let serializationFailure: SQLState = "40001"
    /// Two transactions waited for each other; repeat the whole transaction.
    public static let deadlockDetected: SQLState = "40P01"
    /// `lock_timeout` passed.
    public static let lockNotAvailable: SQLState = "55P03"
    /// `statement_timeout` passed, or an administrator cancelled the statement.
    public static let queryCanceled: SQLState = "57014"
    /// The password is wrong.
    public static let invalidPassword: SQLState = "28P01"
    /// The server closed the session because it was idle. Later statements were not run.
    static let idleSessionTimeout: SQLState = "57P05"
    /// A write on a read-only server: a standby, for example after a fail-over.
    static let readOnlyTransaction: SQLState = "25006"
    /// Another client has prepared a statement of this name in the session.
    static let duplicatePreparedStatement: SQLState = "42P05"
    /// The prepared statement does not exist, or no longer exists.
    static let invalidStatementName: SQLState = "26000"
    /// Also given when a table changed under a prepared statement.
    static let featureNotSupported: SQLState = "0A000"

    /// Whether the session is unusable: the server ends it or accepts no writes, or other clients use it too.
    var endsSession: Bool {
        self == .readOnlyTransaction || self == .duplicatePreparedStatement || description.hasPrefix("57P0")
    }

    /// Whether the cause is the server, the network or load, and not the statement.
    var meansUnavailable: Bool {
        switch description {
        // Conflicts that a retry resolves, a read-only server (during a fail-over), and timeouts.
        case "40001", "40P01", "55P03", "57014", "25006", "25P03": true
        // Connection, resources, operator intervention, system error.
        default: ["08", "53", "57", "58"].contains(classCode)
        }
    }
}
