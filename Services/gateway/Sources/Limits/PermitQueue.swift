// Pure: no I/O, no clock.

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
