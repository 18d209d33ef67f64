public import Contracts
public import Postgres
public import ServiceKit

extension PostgresError: ProblemConvertible {
    /// `UNAVAILABLE` while PostgreSQL is unavailable or slow. Any other error is a defect of the service.
    public var problem: Problem {
        Problem(isUnavailable || code == .cancelled ? .unavailable : .internal)
    }
}

extension PostgresError {
    /// The problem in plain words, as in ``NetworkTrouble``.
    var words: String {
        if let state = sqlState?.description, let known = Self.states[state] { return known }
        if let known = Self.texts.first(where: { message.contains($0.text) }) { return known.words }
        return code == .timedOut ? NetworkTrouble.silent : message
    }

    /// By SQLSTATE.
    private static let states = [
        "28P01": "it does not accept role and password",
        "28000": "it does not let this role in from this machine (pg_hba.conf)",
        "3D000": "it has no such database",
        "42501": "the role may not do what the service does",
        "53300": "all of its connections are taken",
        "57P03": "it is starting up, or stopping",
    ]

    /// Texts of libpq and the driver for errors without SQLSTATE.
    private static let texts: [(text: String, words: String)] = [
        ("Connection refused", NetworkTrouble.refused),
        ("the address of ", NetworkTrouble.unknownName), ("could not translate host name", NetworkTrouble.unknownName),
        ("No route to host", NetworkTrouble.unreachable), ("Network is unreachable", NetworkTrouble.unreachable),
        ("certificate verify failed", NetworkTrouble.untrusted), ("does not match host name", NetworkTrouble.otherName),
        ("server does not support SSL", NetworkTrouble.noTLS), ("server closed the connection", NetworkTrouble.hungUp),
        ("Connection reset", NetworkTrouble.hungUp),
        ("root certificate file", "the file of authorities in sslrootcert cannot be read"),
        ("takes no writes", "it takes no writes: it is a standby"),
        (unknownPoolerText, "a pooler stands before it, and _DATABASE_POOLER does not say so"),
    ]

    private static let unknownPoolerText = "a pooler stands between"
}
