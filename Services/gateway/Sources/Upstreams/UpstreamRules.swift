/// A service that the gateway forwards to: one of Gatehouse's own, or a team's.
struct Upstream: Sendable, Hashable {
    /// Where one replica of it listens.
    struct Address: Sendable, Hashable {
        /// A name, or an IP address without brackets.
        var host: String
        var port: Int
        /// Whether it speaks TLS.
        var isSecure = false

        /// In messages and URLs.
        var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

        /// For the `Host` field, without a port that goes without saying (RFC 9110 §4.2.3).
        var hostField: String {
            guard port == (isSecure ? 443 : 80) else { return authority }
            return host.contains(":") ? "[\(host)]" : host
        }
    }

    /// Who vouches for the certificates of addresses that speak TLS.
    struct Authorities: Sendable, Hashable {
        /// `nil`: those that the system trusts.
        let file: String?
        /// What it held.
        let pem: [UInt8]?

        /// Two of the same content are the same: connections live on when routes are read again.
        static func == (one: Authorities, other: Authorities) -> Bool { one.pem == other.pem }

        func hash(into hasher: inout Hasher) { hasher.combine(pem) }
    }

    /// In metrics and logs.
    var name: String
    var addresses: [Address]
    /// What the gateway proves itself with to this upstream and to no other.
    var credential: String?
    /// `nil`: its addresses speak without TLS.
    var authorities: Authorities?
    /// `nil`: its addresses are judged by how they respond to requests alone.
    var healthCheck: HealthCheck?
    /// How long a kept connection may be unused; `nil`: as long as any upstream's.
    var idleTimeout: Duration?
    /// Trouble of Gatehouse's own services is `UNAVAILABLE`; a team's is `BAD_GATEWAY` or `TIMEOUT`.
    var isGatehouse: Bool
}

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

/// How each address of an upstream is asked whether it is well.
struct HealthCheck: Sendable, Hashable {
    /// The path that responds with a 2xx where all is well.
    var path: String
    /// About so long from the end of one check to the beginning of the next.
    var interval = Duration.seconds(5)
    /// For a whole check, from the connection to the last byte of the response.
    var timeout = Duration.seconds(2)
}

/// What the health checks of one address say: it is up until they say otherwise.
struct HealthState: Sendable, Equatable {
    /// Results in a row that are needed to change `isUp`. One may be chance.
    static let evidence = 2

    private(set) var isUp = true
    /// Results in a row that contradict `isUp`.
    private var doubts = 0

    /// - Returns: whether `isUp` has changed.
    mutating func checked(passed: Bool) -> Bool {
        guard passed != isUp else {
            doubts = 0
            return false
        }
        doubts += 1
        guard doubts == Self.evidence else { return false }
        self = HealthState(isUp: passed)
        return true
    }

    /// Until the next check: sooner where the last one gave reason to doubt.
    ///
    /// - Parameter chance: from 0 to 1, so that replicas of the gateway do not ask all at once.
    func pause(_ interval: Duration, chance: Double) -> Duration {
        (doubts > 0 ? interval / 4 : interval) * (0.8 + 0.4 * chance)
    }

    init() {}

    private init(isUp: Bool) { self.isUp = isUp }
}

/// How many requests may be sent a second time: a share of all, and a few in any case. So an outage of many addresses
/// does not put the requests of all of them, again and again, upon those that are left.
struct RetryBudget: Sendable {
    /// Retries that are allowed in any case within `seconds`.
    static let floor = 10
    /// What is looked back on.
    static let seconds = 10

    private struct Second {
        var number: Int64 = -1
        var requests = 0
        var retries = 0
    }

    /// Of the requests, from 0 to 1.
    private let share: Double
    private var slots = Array(repeating: Second(), count: seconds)

    init(share: Double) { self.share = share }

    /// - Parameter now: nanoseconds of a monotonic clock.
    mutating func countRequest(now: Int64) { slots[slot(of: now)].requests += 1 }

    /// Takes one retry, unless there is none left.
    ///
    /// - Parameter now: nanoseconds of a monotonic clock.
    mutating func takeRetry(now: Int64) -> Bool {
        guard hasRetry(now: now) else { return false }
        slots[slot(of: now)].retries += 1
        return true
    }

    /// Whether there is one left.
    ///
    /// - Parameter now: nanoseconds of a monotonic clock.
    mutating func hasRetry(now: Int64) -> Bool {
        let place = slot(of: now)
        let oldest = slots[place].number - Int64(Self.seconds)
        let (requests, retries) = slots.reduce((0, 0)) { sums, slot in
            slot.number > oldest ? (sums.0 + slot.requests, sums.1 + slot.retries) : sums
        }
        return Double(retries + 1) <= Double(Self.floor) + share * Double(requests)
    }

    private mutating func slot(of now: Int64) -> Int {
        let second = now / 1_000_000_000
        let place = Int(second % Int64(Self.seconds))
        if slots[place].number != second { slots[place] = Second(number: second) }
        return place
    }
}

/// Which names are looked up now, and which wait for a thread.
///
/// A look-up blocks its thread for as long as the name's servers are silent. So each name has one look-up at a time, and
/// names that were slow the last time get half of the threads at the most. The rest is free for the others.
struct LookupQueue: Sendable {
    /// Look-ups at once.
    let limit: Int
    private var running: Set<String> = []
    private var waiting: [String] = []
    /// Names whose last look-up took long.
    private var slow: Set<String> = []

    init(limit: Int) { self.limit = limit }

    /// - Returns: the names whose look-up is to begin: this one, or none.
    mutating func ask(_ name: String) -> [String] {
        guard !running.contains(name), !waiting.contains(name) else { return [] }
        waiting.append(name)
        return next()
    }

    /// - Returns: the names whose look-up is to begin now.
    mutating func ended(_ name: String, wasSlow: Bool) -> [String] {
        running.remove(name)
        if wasSlow { slow.insert(name) } else { slow.remove(name) }
        return next()
    }

    private mutating func next() -> [String] {
        var begun: [String] = []
        var slowOnes = running.count(where: slow.contains)
        waiting.removeAll { name in
            let isSlow = slow.contains(name)
            guard running.count < limit, !isSlow || slowOnes < limit / 2 else { return false }
            running.insert(name)
            begun.append(name)
            if isSlow { slowOnes += 1 }
            return true
        }
        return begun
    }
}
