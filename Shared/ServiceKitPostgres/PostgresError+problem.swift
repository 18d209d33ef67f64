public import GatehouseServiceContracts
public import GatehouseServiceKit
public import Postgres

extension PostgresError: ProblemConvertible {
    /// `UNAVAILABLE` while PostgreSQL is unavailable or slow. Any other error is a defect of the service.
    public var problem: Problem {
        Problem(isUnavailable || code == .cancelled ? .unavailable : .internal)
    }
}

extension PostgresError {
    /// The problem in plain words, as in ``NetworkTrouble``.
    var words: String {
        if let known = sqlState.flatMap({ Self.states[$0] }) { return known }
        if let reason { return reason.words }
        return code == .timedOut ? NetworkTrouble.silent : message
    }

    private static let states: [SQLState: String] = [
        "28P01": "it does not accept role and password",
        "28000": "it does not let this role in from this machine (pg_hba.conf)",
        "3D000": "it has no such database",
        "42501": "the role may not do what the service does",
        "53300": "all of its connections are taken",
        "57P03": "it is starting up, or stopping",
        "25006": "it takes no writes: it is a standby, or read-only",
    ]
}

extension PostgresError.Reason {
    fileprivate var words: String {
        switch self {
        case .refused: NetworkTrouble.refused
        case .unknownHost: NetworkTrouble.unknownName
        case .unreachable: NetworkTrouble.unreachable
        case .untrustedCertificate: NetworkTrouble.untrusted
        case .certificateOfOtherHost: NetworkTrouble.otherName
        case .noTLS: NetworkTrouble.noTLS
        case .closedByPeer: NetworkTrouble.hungUp
        case .unreadableRootCertificates: "the file of authorities in sslrootcert cannot be read"
        case .unknownPooler: "a pooler stands before it, and _DATABASE_POOLER does not say so"
        }
    }
}
