/// Whether requests are sent to an address: one that fails is set aside, for longer each time, until something that
/// probes it has a response (a circuit breaker).
struct Circuit: Sendable, Equatable {
    enum Failure: Sendable, CaseIterable {
        /// The address refused a connection: nothing listens there.
        case refused
        /// A connection could not be made for another reason.
        case unreachable
        /// There was a connection, and on it no response that could be passed on.
        case noResponse
        /// The response of a team's service was 502, 503 or 504.
        case errorStatus
    }

    /// So many requests in a row without a response, or with such a status, set an address aside; a connection that can't
    /// be made does so at once.
    static let noResponseLimit = 5
    /// How long it is set aside the first time; each time twice as long as the last, up to `longest`. Nanoseconds.
    static let shortest: Int64 = 200_000_000
    static let longest: Int64 = 10_000_000_000

    /// When it failed last, in nanoseconds of a monotonic clock; 0 when it has been responding since.
    private(set) var failedAt: Int64 = 0
    private var failures = 0
    private var openings = 0
    private var openUntil: Int64?

    /// Whether the address refused the last connection. An only address is set aside for this alone: whatever else is
    /// wrong with it, a request may still succeed.
    private(set) var refusesConnections = false

    /// Whether requests are sent there as to any other.
    var isClosed: Bool { openUntil == nil }

    /// Whether it has been set aside for long enough to be probed.
    func isDue(now: Int64) -> Bool { openUntil.map { $0 <= now } ?? false }

    mutating func failed(_ failure: Failure, now: Int64) {
        failedAt = now
        if failure == .refused || failure == .unreachable { refusesConnections = failure == .refused }
        if let openUntil {
            // Those that were sent before say nothing new.
            guard openUntil <= now else { return }
        } else {
            failures += 1
            guard failure == .refused || failure == .unreachable || failures >= Self.noResponseLimit else { return }
        }
        openUntil = now + min(Self.shortest << Int64(openings), Self.longest)
        openings = min(openings + 1, 8)
    }

    /// A connection was made.
    mutating func connected() { refusesConnections = false }

    /// It has responded to a probe, and is sent users' requests again. The first of them without a response sets it aside
    /// once more, for longer: a service that responds to probes may still fail at everything else.
    ///
    /// - Parameter time: when it was asked.
    mutating func passedProbe(at time: Int64) {
        guard let openUntil, openUntil <= time else { return }
        self.openUntil = nil
        failures = Self.noResponseLimit - 1
    }

    mutating func responded() { self = Circuit() }
}
