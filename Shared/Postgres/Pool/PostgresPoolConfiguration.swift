/// How many connections a pool keeps, for how long, and how long callers wait for one.
public struct PostgresPoolConfiguration: Sendable {
    /// The pool's name in metrics.
    public var name = "default"
    /// Connections that are kept open even when nobody needs them; 0 unless set. Kept while the pool is run.
    public var minimumConnections = 0
    /// The most connections that are open at once; 16 unless set. One whose caller gave up before the answer counts
    /// until the server has answered.
    public var maximumConnections = 16
    /// How many of these requests may not use. They are for readiness checks and feeds, which have to go on when
    /// requests hold all others; 0 unless set.
    public var reservedConnections = 0
    /// The age at which a connection is replaced, up to a tenth earlier so that not all are replaced at once; 30 min
    /// unless set.
    public var maximumAge: Duration = .seconds(1800)
    /// How long a connection beyond the minimum may lie idle; 5 min unless set.
    public var idleTimeout: Duration = .seconds(300)
    /// How many callers may wait for a connection; 256 unless set. The next one is refused at once.
    public var queueLimit = 256
    /// How long a caller waits for a connection, if its deadline is not earlier; 1 s unless set.
    public var acquireTimeout: Duration = .seconds(1)
    /// The pause after the first failure to connect; doubled with each further one, times 0.5 to 1 at random.
    public var minimumBackoff: Duration = .milliseconds(50)
    /// The longest pause between attempts to connect; 0.5 s unless set.
    public var maximumBackoff: Duration = .milliseconds(500)

    /// How long a statement stays unanswered, with no byte from the server on any connection, until all its connections
    /// are replaced; 0.75 s unless set. Found when a caller gives up.
    public var silenceLimit: Duration = .milliseconds(750)

    /// What each new connection is asked before anybody is given it; nothing unless set. A connection of which it throws
    /// is closed, as if it could not have been opened.
    public var check: (@Sendable (PostgresConnection) async throws(PostgresError) -> Void)?

    /// The defaults.
    public init() {}
}
