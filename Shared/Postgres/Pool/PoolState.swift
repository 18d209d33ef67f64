/// A connection of a pool and the moment from which it is not used again.
struct PoolMember<Connection: Sendable>: Sendable {
    let connection: Connection
    let openedAt: ContinuousClock.Instant
    let expiresAt: ContinuousClock.Instant
}

/// The rules of the pool, without connections, locks or clocks: every call says what to do next.
struct PoolState<Connection: Sendable, Waiter: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Member = PoolMember<Connection>

    struct Idle: Sendable {
        let member: Member
        let since: Instant
    }

    struct Waiting: Sendable {
        let id: UInt64
        let deadline: Instant
        let waiter: Waiter
    }

    enum Admission: Sendable {
        case leased(Member)
        case refused(PostgresError)
        case waits
    }

    /// What to do with a connection that came back or was opened.
    enum Placement: Sendable {
        case handOver(Member, to: Waiter)
        case keep
        case close(Member)
    }

    private struct Failure: Sendable {
        let error: PostgresError
        let attempts: Int
        let retryAt: Instant
    }

    private let configuration: PostgresPoolConfiguration
    /// The one used last stands last and is used next, so that the others may become idle long enough to be closed.
    private(set) var idle: [Idle] = []
    private(set) var leased = 0
    private(set) var opening = 0
    private(set) var waiting: [Waiting] = []
    private(set) var isClosed = false
    private var failure: Failure?
    /// Connections that were opened before are not used again.
    private var retiredAt: Instant?

    init(_ configuration: PostgresPoolConfiguration) {
        self.configuration = configuration
    }

    /// Whether the last attempt to connect failed.
    var isFailing: Bool { failure != nil }

    // MARK: Taking and giving back

    /// The quick way: an idle connection if nobody waits for one.
    mutating func lease() -> Member? {
        guard waiting.isEmpty, let next = idle.popLast() else { return nil }
        leased += 1
        return next.member
    }

    /// The slow way: takes a connection, joins the queue or refuses.
    mutating func admit(_ waiting: Waiting, now: Instant) -> Admission {
        if isClosed { return .refused(PostgresError(.closed, "the pool is closed")) }
        if let member = lease() { return .leased(member) }
        // The server is away: do not let everybody find that out slowly. The one who comes when the pause is over waits
        // for the next attempt.
        if let failure, leased == 0, now < failure.retryAt || opening > 0 { return .refused(failure.error) }
        if self.waiting.count >= configuration.queueLimit {
            return .refused(
                PostgresError(.poolExhausted, "\(self.waiting.count) callers already wait for a connection"))
        }
        self.waiting.append(waiting)
        return .waits
    }

    /// A leased connection comes back.
    mutating func release(_ member: Member, isReusable: Bool, now: Instant) -> Placement {
        leased -= 1
        let isRetired = retiredAt.map { member.openedAt <= $0 } ?? false
        guard isReusable, !isClosed, !isRetired, now < member.expiresAt else { return .close(member) }
        return place(member, now: now)
    }

    /// Takes out everybody whose time is over.
    mutating func expire(now: Instant) -> [Waiter] {
        let expired = waiting.filter { $0.deadline <= now }
        waiting.removeAll { $0.deadline <= now }
        return expired.map(\.waiter)
    }

    /// Takes out one who no longer waits.
    mutating func remove(waiting id: UInt64) -> Waiter? {
        waiting.firstIndex { $0.id == id }.map { waiting.remove(at: $0).waiter }
    }

    // MARK: Opening and closing

    /// How many connections to open now; they count as being opened from here on.
    mutating func startOpening(now: Instant) -> Int {
        guard !isClosed else { return 0 }
        let total = idle.count + leased + opening
        let wanted = max(waiting.count - opening, configuration.minimumConnections - total)
        var number = max(0, min(wanted, configuration.maximumConnections - total))
        if let failure {
            // One at a time until the server answers.
            number = now >= failure.retryAt && opening == 0 ? max(min(number, 1), isAlone ? 1 : 0) : 0
        }
        opening += number
        return number
    }

    /// Whether no connection is open, so that only an attempt can tell whether the server is back.
    private var isAlone: Bool { idle.isEmpty && leased == 0 }

    mutating func opened(_ member: Member, now: Instant) -> Placement {
        opening -= 1
        failure = nil
        return isClosed ? .close(member) : place(member, now: now)
    }

    /// - Parameter jitter: 0.5 to 1.
    /// - Returns: Those who wait in vain, since no connection is open that could come back.
    mutating func openingFailed(_ error: PostgresError, now: Instant, jitter: Double) -> [Waiter] {
        opening -= 1
        let attempts = (failure?.attempts ?? 0) + 1
        let pause = min(
            configuration.minimumBackoff * (1 << min(attempts - 1, 16)), configuration.maximumBackoff)
        failure = Failure(error: error, attempts: attempts, retryAt: now + pause * jitter)
        guard isAlone, opening == 0 else { return [] }
        defer { waiting = [] }
        return waiting.map(\.waiter)
    }

    /// Takes out the idle connections that are too old, or idle too long beyond the minimum.
    mutating func trim(now: Instant) -> [Member] {
        var spare = idle.count + leased - configuration.minimumConnections
        var (kept, removed): ([Idle], [Member]) = ([], [])
        for entry in idle {
            let isSpare = spare > 0 && now - entry.since >= configuration.idleTimeout
            if isSpare || now >= entry.member.expiresAt {
                spare -= 1
                removed.append(entry.member)
            } else {
                kept.append(entry)
            }
        }
        idle = kept
        return removed
    }

    /// Takes out the idle connections, and has those in use closed when they come back.
    mutating func retire(now: Instant) -> [Member] {
        retiredAt = now
        defer { idle = [] }
        return idle.map(\.member)
    }

    mutating func close() -> (waiters: [Waiter], members: [Member]) {
        isClosed = true
        defer { (waiting, idle) = ([], []) }
        return (waiting.map(\.waiter), idle.map(\.member))
    }

    private mutating func place(_ member: Member, now: Instant) -> Placement {
        guard !waiting.isEmpty else {
            idle.append(Idle(member: member, since: now))
            return .keep
        }
        leased += 1
        return .handOver(member, to: waiting.removeFirst().waiter)
    }
}
