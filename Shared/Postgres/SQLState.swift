/// PostgreSQL's five-character error code (PostgreSQL documentation, appendix A).
public struct SQLState: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The five characters.
    public let description: String

    /// Any code, also one that is not named here.
    public init(_ code: String) {
        description = code
    }

    /// Any code, also one that is not named here.
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
    /// The server closed the session because it was idle: what was sent then has not been looked at.
    static let idleSessionTimeout: SQLState = "57P05"
    /// A write on a server that is read from alone: a standby, as after a fail-over.
    static let readOnlyTransaction: SQLState = "25006"
    /// Another client has prepared a statement of this name in the session.
    static let duplicatePreparedStatement: SQLState = "42P05"
    /// The prepared statement is not there (any more).
    static let invalidStatementName: SQLState = "26000"
    /// Also given when a table changed under a prepared statement.
    static let featureNotSupported: SQLState = "0A000"

    /// Whether the session is of no further use: the server ends it or takes no writes, or others use it too.
    var endsSession: Bool {
        self == .readOnlyTransaction || self == .duplicatePreparedStatement || description.hasPrefix("57P0")
    }

    /// Trouble of the server, the network or the load, rather than of the statement.
    var meansUnavailable: Bool {
        switch description {
        // Collisions that a repeat solves, a server that only reads (a fail-over is under way), and time-outs.
        case "40001", "40P01", "55P03", "57014", "25006", "25P03": true
        // Connection, resources, operator intervention, system error.
        default: ["08", "53", "57", "58"].contains(classCode)
        }
    }
}
