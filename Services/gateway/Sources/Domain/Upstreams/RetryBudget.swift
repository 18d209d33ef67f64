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
