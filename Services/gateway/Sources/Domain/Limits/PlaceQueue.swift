import Synchronization

/// Places that are given in order of arrival. A place that becomes free goes to the one that has waited longest.
struct PlaceQueue<Waiter> {
    /// Names a waiter. A later one has a higher number.
    typealias Ticket = Int

    private let limit: Int
    private(set) var taken = 0
    /// No ticket before this one waits.
    private var first: Ticket = 0
    private var next: Ticket = 0
    private var waiting: [Ticket: Waiter] = [:]

    init(limit: Int) { self.limit = limit }

    /// Those that wait.
    var count: Int { waiting.count }

    /// Takes a place, unless all are taken. Then others may be waiting.
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

    /// A place becomes free.
    ///
    /// - Returns: the one that has it now.
    mutating func leave() -> (ticket: Ticket, waiter: Waiter)? {
        while first < next {
            defer { first += 1 }
            if let waiter = waiting.removeValue(forKey: first) { return (first, waiter) }
        }
        taken -= 1
        return nil
    }

    /// - Returns: `false` where the waiter was given a place before.
    mutating func giveUp(_ ticket: Ticket) -> Bool {
        waiting.removeValue(forKey: ticket) != nil
    }
}

/// A queue for places that all event loops share: of requests that have a password hashed, or that come from a network with
/// many refused refreshes. Such a request costs far more than a lock.
final class OrderedPlaces: Sendable {
    /// Called when the waiter has a place, on any thread.
    typealias Wake = @Sendable (_ ticket: Int) -> Void

    private let queue: Mutex<PlaceQueue<Wake>>

    init(limit: Int) { queue = Mutex(PlaceQueue(limit: limit)) }

    /// Requests that wait.
    var waiting: Int { queue.withLock { $0.count } }

    func take() -> Bool { queue.withLock { $0.take() } }

    /// Waits for a place. Where one has become free since `take`, `wake` is called at once.
    func wait(_ wake: @escaping Wake) -> Int {
        let (ticket, next) = queue.withLock { queue in
            let ticket = queue.wait(wake)
            // A free place goes the way of one that becomes free.
            return (ticket, queue.take() ? queue.leave() : nil)
        }
        next?.waiter(next!.ticket)
        return ticket
    }

    func leave() {
        let next = queue.withLock { $0.leave() }
        next?.waiter(next!.ticket)
    }

    /// - Returns: `false` where the waiter has a place, which it has to leave.
    func giveUp(_ ticket: Int) -> Bool { queue.withLock { $0.giveUp(ticket) } }
}

/// The places of requests from networks that have had more refusals than they may: a few for each network.
final class NetworkPlaces: Sendable {
    private static let queues = 1024

    /// By the hash of the network, which no client can foresee. Two networks that have the same one share the places.
    private let places: [OrderedPlaces]

    /// - Parameter limit: places of each network.
    init(limit: Int) { places = (0..<Self.queues).map { _ in OrderedPlaces(limit: limit) } }

    func places(of address: AddressKey) -> OrderedPlaces {
        places[Int(UInt(bitPattern: address.connectionNetwork.hashValue) % UInt(places.count))]
    }
}
