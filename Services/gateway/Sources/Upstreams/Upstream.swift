// Pure: no I/O, no clock.

/// A service that the gateway forwards requests to: one of Gatehouse's own, or a team's.
struct Upstream: Sendable, Hashable {
    /// One of the addresses that the routes give. A name may resolve to the addresses of several replicas.
    struct Address: Sendable, Hashable {
        /// A name, or an IP address without brackets.
        var host: String
        var port: Int
        /// Whether it speaks TLS.
        var isSecure = false

        /// For messages and URLs.
        var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

        /// For the `Host` field, without the default port (RFC 9110 §4.2.3).
        var hostField: String {
            guard port == (isSecure ? 443 : 80) else { return authority }
            return host.contains(":") ? "[\(host)]" : host
        }
    }

    /// The certificate authorities for addresses with TLS.
    struct Authorities: Sendable, Hashable {
        /// `nil`: the authorities that the system trusts.
        let file: String?
        /// The contents of the file.
        let pem: [UInt8]?

        /// Equal contents make equal values, so connections continue when routes are reloaded.
        static func == (one: Authorities, other: Authorities) -> Bool { one.pem == other.pem }

        func hash(into hasher: inout Hasher) { hasher.combine(pem) }
    }

    /// For metrics and logs.
    var name: String
    var addresses: [Address]
    /// The gateway's credential for this upstream and no other.
    var credential: String?
    /// `nil`: its addresses are contacted without TLS.
    var authorities: Authorities?
    /// `nil`: only responses to requests decide about the health of its addresses.
    var healthCheck: HealthCheck?
    /// How long a kept connection may be unused; `nil`: as long as any upstream's.
    var idleTimeout: Duration?
    /// A failure of Gatehouse's own services is `UNAVAILABLE`; a team's is `BAD_GATEWAY` or `TIMEOUT`.
    var isGatehouse: Bool
}

/// Whether requests are sent to an address (a circuit breaker). An address that fails is set aside, for longer each
/// time, until a probe gets a response.
struct Circuit: Sendable, Equatable {
    enum Failure: Sendable, CaseIterable {
        /// The address refused a connection: no process listens there.
        case refused
        /// A connection could not be made for another reason.
        case unreachable
        /// The connection was made, but delivered no response that could be forwarded.
        case noResponse
        /// The response of a team's service was 502, 503 or 504.
        case errorStatus
    }

    /// Consecutive requests without a response, or with such a status, that set an address aside. A connection that
    /// cannot be made does so at once.
    static let noResponseLimit = 5
    /// How long it is set aside the first time. The time doubles up to `longest`. Nanoseconds.
    static let shortest: Int64 = 200_000_000
    static let longest: Int64 = 10_000_000_000

    /// When it last failed, in nanoseconds of a monotonic clock; 0 if it has responded since.
    private(set) var failedAt: Int64 = 0
    private var failures = 0
    private var openings = 0
    private var openUntil: Int64?

    /// Whether the address refused the last connection. An only address is set aside for this alone, because a request
    /// may succeed despite other failures.
    private(set) var refusesConnections = false

    /// Whether requests are sent to the address normally.
    var isClosed: Bool { openUntil == nil }

    /// Whether the address has been set aside for long enough to be probed.
    func isDue(now: Int64) -> Bool { openUntil.map { $0 <= now } ?? false }

    mutating func failed(_ failure: Failure, now: Int64) {
        failedAt = now
        if failure == .refused || failure == .unreachable { refusesConnections = failure == .refused }
        if let openUntil {
            // Requests that were sent before it was set aside add no information.
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

    /// The address has responded to a probe, and receives users' requests again. The first of them without a response
    /// sets it aside once more, for longer: a service that responds to probes may still fail at everything else.
    ///
    /// - Parameter time: when the probe was sent.
    mutating func passedProbe(at time: Int64) {
        guard let openUntil, openUntil <= time else { return }
        self.openUntil = nil
        failures = Self.noResponseLimit - 1
    }

    mutating func responded() { self = Circuit() }
}

/// The health check for each address of an upstream.
struct HealthCheck: Sendable, Hashable {
    /// A path that responds with 2xx if the service is healthy.
    var path: String
    /// The approximate time from the end of one check to the beginning of the next.
    var interval = Duration.seconds(5)
    /// For a whole check, from the connection to the last byte of the response.
    var timeout = Duration.seconds(2)
}

/// The health of one address by its checks. It is up until checks fail.
struct HealthState: Sendable, Equatable {
    /// The number of consecutive contradicting results that changes `isUp`.
    static let threshold = 2

    private(set) var isUp = true
    /// Consecutive results that contradict `isUp`.
    private var contradictions = 0

    /// - Returns: whether `isUp` has changed.
    mutating func checked(passed: Bool) -> Bool {
        guard passed != isUp else {
            contradictions = 0
            return false
        }
        contradictions += 1
        guard contradictions == Self.threshold else { return false }
        self = HealthState(isUp: passed)
        return true
    }

    /// The time until the next check. It is shorter if the last result contradicts `isUp`.
    ///
    /// - Parameter chance: from 0 to 1, so that replicas of the gateway do not check all at once.
    func pause(_ interval: Duration, chance: Double) -> Duration {
        (contradictions > 0 ? interval / 4 : interval) * (0.8 + 0.4 * chance)
    }

    init() {}

    private init(isUp: Bool) { self.isUp = isUp }
}

/// Limits the number of retries to a share of all requests, plus a few. So when many addresses fail, the remaining ones
/// do not receive all of their requests repeatedly.
struct RetryBudget: Sendable {
    /// Retries that are always allowed within `seconds`.
    static let floor = 10
    /// The length of the window.
    static let seconds = 10

    private struct Second {
        var number: Int64 = -1
        var requests = 0
        var retries = 0
    }

    private var slots = Array(repeating: Second(), count: seconds)

    /// - Parameter now: nanoseconds of a monotonic clock.
    mutating func countRequest(now: Int64) { slots[slot(of: now)].requests += 1 }

    /// Takes one retry, if one is left.
    ///
    /// - Parameters:
    ///   - share: of the requests, from 0 to 1.
    ///   - now: nanoseconds of a monotonic clock.
    mutating func takeRetry(share: Double, now: Int64) -> Bool {
        guard hasRetry(share: share, now: now) else { return false }
        slots[slot(of: now)].retries += 1
        return true
    }

    /// Whether a retry is left.
    ///
    /// - Parameters:
    ///   - share: of the requests, from 0 to 1.
    ///   - now: nanoseconds of a monotonic clock.
    mutating func hasRetry(share: Double, now: Int64) -> Bool {
        let index = slot(of: now)
        let oldest = slots[index].number - Int64(Self.seconds)
        let (requests, retries) = slots.reduce((0, 0)) { sums, slot in
            slot.number > oldest ? (sums.0 + slot.requests, sums.1 + slot.retries) : sums
        }
        return Double(retries + 1) <= Double(Self.floor) + share * Double(requests)
    }

    private mutating func slot(of now: Int64) -> Int {
        let second = now / 1_000_000_000
        let index = Int(second % Int64(Self.seconds))
        if slots[index].number != second { slots[index] = Second(number: second) }
        return index
    }
}
