/// A connection of a pool.
struct PoolMember<Connection: Sendable>: Sendable {
    let id: UInt64
    let connection: Connection
    let server: ServerInstance
    /// When the attempt to connect began.
    let openedAt: ContinuousClock.Instant
    /// The pool does not use the connection after this moment.
    let expiresAt: ContinuousClock.Instant
}

/// A connection that a caller uses.
struct PoolLease<Connection: Sendable>: Sendable {
    let member: PoolMember<Connection>
    let usesReserve: Bool
}

/// The rules of the pool, without connections, locks or clocks. Every call returns what to do next.
///
/// All connections lead to one server. A connection to another server replaces it: the former one failed, or is not
/// the primary any more.
///
/// A connection whose caller gave up before the result counts until the server has answered. The server may still run
/// the statement, or wait for a standby, and a new connection in its place would exceed the maximum.
struct PoolState<Connection: Sendable, Waiter: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Member = PoolMember<Connection>
    typealias Lease = PoolLease<Connection>

    struct Idle: Sendable {
        let member: Member
        let since: Instant
    }

    struct Waiting: Sendable {
        let id: UInt64
        let deadline: Instant
        let usesReserve: Bool
        let waiter: Waiter
    }

    struct Opening: Sendable {
        var number: Int
        var servers: ServerOrder
    }

    /// The actions of the pool after a change.
    struct Effects: Sendable {
        var leases: [(lease: Lease, waiter: Waiter)] = []
        var refusals: [(waiter: Waiter, error: PostgresError)] = []
        var closing: [Member] = []
        /// Connections that wait for the answer to what was given up, until ``PoolState/drained(_:heardAt:now:)``.
        var draining: [Member] = []
        /// Of these the pool no longer awaits the answer.
        var undraining: [Member] = []
        var opening: Opening?
        /// Where another server is to be looked for.
        var search: ServerOrder?
        /// The server has gone silent, and its connections are replaced.
        var isSilent = false
    }

    private struct Failure: Sendable {
        let error: PostgresError
        let attempts: Int
        let retryAt: Instant
    }

    /// The server that all connections lead to.
    private struct Server: Sendable {
        let startedAt: Int64
        let since: Instant
        /// The addresses that are known to lead to it.
        var addresses: Set<ServerAddress>
        var lastAddress: ServerAddress
        /// When a byte arrived from it last, on any connection.
        var heardAt: Instant
        /// When the first of the statements was sent that were given up and were sent after `heardAt`.
        var unansweredSince: Instant?
        /// Connections that were opened before are not used again.
        var retiredAt: Instant?
        /// Whether the other servers are tried first.
        var isTriedLast = false
    }

    private let configuration: PostgresPoolConfiguration
    /// The one used last stands last and is used next, so that the others may become idle long enough to be closed.
    private(set) var idle: [Idle] = []
    private(set) var leased = 0
    private(set) var leasedToRequests = 0
    private(set) var opening = 0
    /// Connections whose callers gave up before the answer.
    private(set) var unanswered: [Member] = []
    /// In order of arrival; those that may use the reserve stand first.
    private(set) var waiting: [Waiting] = []
    private(set) var isClosed = false
    private var failure: Failure?
    /// Whether another server is being looked for. This takes one connection beyond the maximum for a moment.
    private(set) var isSearching = false
    private var searchFailure: Failure?
    private var server: Server?

    init(_ configuration: PostgresPoolConfiguration) {
        self.configuration = configuration
    }

    /// Whether the last attempt to connect failed, to the server or to another one.
    var isFailing: Bool { failure != nil || searchFailure != nil }
    /// Connections of the pool at the server, and those on their way.
    var total: Int { idle.count + leased + opening + unanswered.count }

    // MARK: Leasing

    /// The fast path: an idle connection, if no caller waits for one.
    mutating func lease(usesReserve: Bool) -> Lease? {
        guard waiting.first.map({ usesReserve && !$0.usesReserve }) ?? true else { return nil }
        return takeIdle(usesReserve: usesReserve)
    }

    /// The slow path: takes a connection, joins the queue or is refused.
    mutating func admit(_ caller: Waiting, now: Instant) -> Effects {
        var effects = Effects()
        if isClosed {
            effects.refusals = [(caller.waiter, Self.closed)]
        } else if let lease = lease(usesReserve: caller.usesReserve) {
            effects.leases = [(lease, caller.waiter)]
        } else if let error = obstacle(for: caller, now: now) {
            effects.refusals = [(caller.waiter, error)]
        } else if !caller.usesReserve, waiting.count >= configuration.queueLimit {
            let error = PostgresError(.poolExhausted, "\(waiting.count) callers already wait for a connection")
            effects.refusals = [(caller.waiter, error)]
        } else {
            let end = caller.usesReserve ? waiting.firstIndex { !$0.usesReserve } : nil
            waiting.insert(caller, at: end ?? waiting.endIndex)
            settle(&effects, now: now)
        }
        return effects
    }

    /// A leased connection comes back.
    mutating func release(_ lease: Lease, _ report: ConnectionReport, now: Instant) -> Effects {
        leased -= 1
        if !lease.usesReserve { leasedToRequests -= 1 }
        let member = lease.member
        var effects = Effects()
        if let server, server.startedAt == member.server.startedAt, !isClosed {
            let isRetired = server.retiredAt.map { member.openedAt <= $0 } ?? false
            switch report.status {
            case .unanswered:
                unanswered.append(member)
                effects.draining.append(member)
            case .idle where !isRetired && now < member.expiresAt:
                idle.append(Idle(member: member, since: now))
            default:
                effects.closing.append(member)
            }
            note(report, now: now)
            retireIfSilent(&effects, now: now)
        } else {
            effects.closing.append(member)
        }
        settle(&effects, now: now)
        return effects
    }

    /// Takes out a caller that no longer waits.
    mutating func remove(waiting id: UInt64) -> Waiter? {
        waiting.firstIndex { $0.id == id }.map { waiting.remove(at: $0).waiter }
    }

    private mutating func takeIdle(usesReserve: Bool) -> Lease? {
        guard usesReserve || requestsMayLease, let next = idle.popLast() else { return nil }
        leased += 1
        if !usesReserve { leasedToRequests += 1 }
        return Lease(member: next.member, usesReserve: usesReserve)
    }

    private var requestsMayLease: Bool { freeForRequests > 0 }

    /// How many more connections requests may use. The reserve is not theirs, and what was given up counts as used.
    private var freeForRequests: Int {
        configuration.maximumConnections - configuration.reservedConnections - leasedToRequests - unanswered.count
    }

    /// Whether no connection is in use that could come back for this caller.
    private func waitsInVain(_ caller: Waiting) -> Bool {
        (caller.usesReserve ? leased : leasedToRequests) == 0
    }

    /// Whether all that the caller might use was given up and is unanswered.
    private func isStuck(_ caller: Waiting) -> Bool {
        waitsInVain(caller)
            && (caller.usesReserve
                ? unanswered.count >= configuration.maximumConnections : freeForRequests <= 0)
    }

    /// Why a caller is refused at once: only the one that comes when the pause is over waits for the next attempt.
    private func obstacle(for caller: Waiting, now: Instant) -> PostgresError? {
        if let failure, waitsInVain(caller), now < failure.retryAt || opening > 0 { return failure.error }
        if let searchFailure, isStuck(caller), now < searchFailure.retryAt || isSearching { return searchFailure.error }
        return nil
    }

    // MARK: The server

    /// Applies a connection's report: its last byte, and a statement that stays unanswered.
    private mutating func note(_ report: ConnectionReport, now: Instant) {
        heard(at: report.heardAt)
        guard let server, report.status == .unanswered, report.askedAt > server.heardAt else { return }
        self.server?.unansweredSince = min(server.unansweredSince ?? report.askedAt, report.askedAt)
    }

    private mutating func heard(at instant: Instant) {
        guard let server, instant > server.heardAt else { return }
        self.server?.heardAt = instant
        if let since = server.unansweredSince, since < instant { self.server?.unansweredSince = nil }
    }

    /// Replaces the connections of a server that left a statement unanswered while no byte came from it on any
    /// connection: its host may be gone without a word, and every other connection would cost a caller its time.
    private mutating func retireIfSilent(_ effects: inout Effects, now: Instant) {
        guard let since = server?.unansweredSince, now - since >= configuration.silenceLimit else { return }
        effects.isSilent = !idle.isEmpty
        retire(&effects, now: now)
    }

    private mutating func retire(_ effects: inout Effects, now: Instant) {
        server?.retiredAt = now
        server?.isTriedLast = true
        effects.closing += idle.map(\.member)
        idle = []
    }

    /// Closes the idle connections to a server that takes no writes, and those in use when they come back.
    mutating func retire(_ instance: ServerInstance, now: Instant) -> Effects {
        var effects = Effects()
        guard server?.startedAt == instance.startedAt else { return effects }
        retire(&effects, now: now)
        settle(&effects, now: now)
        return effects
    }

    /// The server has answered what was given up, or has closed the connection.
    ///
    /// - Parameter heardAt: when its last byte arrived.
    mutating func drained(_ member: Member, heardAt: Instant, now: Instant) -> Effects {
        var effects = Effects()
        guard let index = unanswered.firstIndex(where: { $0.id == member.id }) else { return effects }
        unanswered.remove(at: index)
        if let server, heardAt > server.heardAt {
            heard(at: heardAt)
            failure = nil
        }
        searchFailure = nil
        settle(&effects, now: now)
        return effects
    }

    func isUnanswered(_ member: Member) -> Bool {
        unanswered.contains { $0.id == member.id }
    }

    // MARK: Opening and closing

    /// - Parameter isSearch: whether another server was looked for.
    mutating func opened(_ member: Member, isSearch: Bool, now: Instant) -> Effects {
        attemptEnded(isSearch: isSearch)
        var effects = Effects()
        let instance = member.server
        if isClosed {
            effects.closing.append(member)
            return effects
        }
        if let server, server.startedAt != instance.startedAt, member.openedAt <= server.since {
            // The attempt began before the pool turned to its present server.
            effects.closing.append(member)
            settle(&effects, now: now)
            return effects
        }
        let isOther = server?.startedAt != instance.startedAt
        if isOther {
            effects.closing += idle.map(\.member)
            effects.undraining = unanswered
            (idle, unanswered) = ([], [])
            searchFailure = nil
            server = Server(
                startedAt: instance.startedAt, since: now, addresses: [], lastAddress: instance.address, heardAt: now)
        }
        server?.addresses.insert(instance.address)
        heard(at: now)
        if isSearch, !isOther {
            // It is the same server, at this address or at another one.
            effects.closing.append(member)
            searchFailed(.noOtherServer, &effects, now: now, jitter: 1)
            return effects
        }
        server?.lastAddress = instance.address
        server?.isTriedLast = false
        failure = nil
        idle.append(Idle(member: member, since: now))
        settle(&effects, now: now)
        return effects
    }

    /// - Parameters:
    ///   - isSearch: whether another server was looked for.
    ///   - jitter: 0.5 to 1.
    mutating func openingFailed(_ error: PostgresError, isSearch: Bool, now: Instant, jitter: Double) -> Effects {
        attemptEnded(isSearch: isSearch)
        var effects = Effects()
        if isSearch {
            searchFailed(error, &effects, now: now, jitter: jitter)
        } else {
            failure = failed(error, after: failure, now: now, jitter: jitter)
            if opening == 0 { refuse(waitsInVain, error, &effects) }
            settle(&effects, now: now)
        }
        return effects
    }

    private mutating func attemptEnded(isSearch: Bool) {
        if isSearch { isSearching = false } else { opening -= 1 }
    }

    private mutating func searchFailed(_ error: PostgresError, _ effects: inout Effects, now: Instant, jitter: Double) {
        searchFailure = failed(error, after: searchFailure, now: now, jitter: jitter)
        refuse(isStuck, error, &effects)
        settle(&effects, now: now)
    }

    private func failed(_ error: PostgresError, after last: Failure?, now: Instant, jitter: Double) -> Failure {
        let attempts = (last?.attempts ?? 0) + 1
        let pause = min(
            configuration.minimumBackoff * (1 << min(attempts - 1, 16)), configuration.maximumBackoff)
        return Failure(error: error, attempts: attempts, retryAt: now + pause * jitter)
    }

    /// Once a second, and more often while the server is away. Closes connections that are too old, or idle too long
    /// beyond the minimum, and opens what is missing.
    mutating func maintain(now: Instant) -> Effects {
        var effects = Effects()
        var spare = idle.count + leased - configuration.minimumConnections
        var kept: [Idle] = []
        for entry in idle {
            let isSpare = spare > 0 && now - entry.since >= configuration.idleTimeout
            if isSpare || now >= entry.member.expiresAt {
                spare -= 1
                effects.closing.append(entry.member)
            } else {
                kept.append(entry)
            }
        }
        idle = kept
        settle(&effects, now: now)
        return effects
    }

    /// Ends the waiting of callers whose time is over.
    mutating func expire(now: Instant) -> Effects {
        var effects = Effects()
        // While a connection is being opened, or cannot be, its lack says nothing about the load.
        let error =
            opening == 0 && !isSearching && !isFailing
            ? PostgresError(.poolExhausted, "no connection became free in time")
            : (failure ?? searchFailure)?.error ?? PostgresError(.connectionFailed, "no connection was opened in time")
        refuse({ $0.deadline <= now }, error, &effects)
        return effects
    }

    mutating func close() -> Effects {
        isClosed = true
        var effects = Effects()
        refuse({ _ in true }, Self.closed, &effects)
        effects.closing = idle.map(\.member)
        effects.undraining = unanswered
        (idle, unanswered) = ([], [])
        return effects
    }

    private mutating func refuse(
        _ condition: (Waiting) -> Bool, _ error: PostgresError, _ effects: inout Effects
    ) {
        effects.refusals += waiting.filter(condition).map { ($0.waiter, error) }
        waiting.removeAll(where: condition)
    }

    /// Serves the callers that can be served, and opens connections for the others.
    private mutating func settle(_ effects: inout Effects, now: Instant) {
        while let caller = waiting.first, let lease = takeIdle(usesReserve: caller.usesReserve) {
            waiting.removeFirst()
            effects.leases.append((lease, caller.waiter))
        }
        guard !isClosed else { return }
        effects.opening = startOpening(now: now)
        effects.search = startSearch(now: now)
    }

    private mutating func startOpening(now: Instant) -> Opening? {
        if let failure, now < failure.retryAt || opening > 0 { return nil }
        let reserved = waiting.prefix(while: \.usesReserve).count
        let demand = reserved + min(waiting.count - reserved, max(0, freeForRequests))
        let missing = configuration.minimumConnections - idle.count - leased - opening
        let room = configuration.maximumConnections - total
        var number = max(0, min(max(demand - opening, missing), room))
        if failure != nil {
            // One at a time until the server answers, also when no caller waits.
            number = min(max(number, idle.isEmpty && leased == 0 ? 1 : 0), 1, max(0, room))
        }
        guard number > 0 else { return nil }
        var servers = ServerOrder()
        if let server {
            if server.isTriedLast { servers.last = server.addresses } else { servers.first = server.lastAddress }
        }
        opening += number
        return Opening(number: number, servers: servers)
    }

    /// When all that a caller could use is unanswered, another server may have taken over. It may have taken over the
    /// address too, where that is of a proxy or is moved from host to host, so known addresses are tried last.
    private mutating func startSearch(now: Instant) -> ServerOrder? {
        guard let server, !isSearching, searchFailure.map({ $0.retryAt <= now }) ?? true,
            waiting.contains(where: isStuck)
        else { return nil }
        isSearching = true
        return ServerOrder(last: server.addresses)
    }

    private static var closed: PostgresError { PostgresError(.closed, "the pool is closed") }
}
