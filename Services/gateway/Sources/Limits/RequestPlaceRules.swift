extension RequestPermits {
    /// Decides whether a share may have one more permit.
    ///
    /// A share may grow while it has fewer than twice the free permits. A quarter of all permits is reserved for
    /// Gatehouse's own services. So one team's upstream that hangs gets half of all permits, two of them 30 % each, and
    /// every other upstream finds some free.
    struct Rule: Sendable, Equatable {
        let limit: Int

        /// Permits that teams' upstreams never get.
        var reserve: Int { limit / 4 }

        /// - Parameters:
        ///   - used: the share's permits.
        ///   - teams: the permits of all shares of teams' upstreams.
        ///   - gatehouse: the permits of all shares of Gatehouse's own services.
        func admits(isGatehouse: Bool, used: Int, teams: Int, gatehouse: Int) -> Bool {
            let free = limit - teams - gatehouse
            return used < 2 * (isGatehouse ? free : min(free, limit - reserve - teams))
        }
    }
}

/// Permits that are given in order of arrival. A permit that becomes free goes to the longest waiting waiter.
struct PermitQueue<Waiter> {
    /// Identifies a waiter. A later one has a higher number.
    typealias Ticket = Int

    private let limit: Int
    private(set) var taken = 0
    /// All earlier tickets have stopped waiting.
    private var first: Ticket = 0
    private var next: Ticket = 0
    private var waiting: [Ticket: Waiter] = [:]

    init(limit: Int) { self.limit = limit }

    /// The number of waiters.
    var count: Int { waiting.count }

    /// Takes a permit, unless all are taken. In that case others may be waiting.
    mutating func take() -> Bool {
        guard taken < limit else { return false }
        taken += 1
        return true
    }

    mutating func wait(_ waiter: Waiter) -> Ticket {
        defer { next += 1 }
        waiting[next] = waiter
        return next
    }

    /// A permit becomes free.
    ///
    /// - Returns: the waiter that receives the permit.
    mutating func release() -> (ticket: Ticket, waiter: Waiter)? {
        while first < next {
            defer { first += 1 }
            if let waiter = waiting.removeValue(forKey: first) { return (first, waiter) }
        }
        taken -= 1
        return nil
    }

    /// - Returns: `false` if the waiter already has a permit.
    mutating func giveUp(_ ticket: Ticket) -> Bool {
        waiting.removeValue(forKey: ticket) != nil
    }
}
