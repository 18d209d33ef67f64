// Pure: no I/O, no clock.

import Synchronization

/// The limit of requests in flight, for the whole process.
///
/// Each upstream has a share, so that an upstream that hangs leaves room for the others: see ``Rule``. Each address has
/// at most `addressLimit` permits. The counts are atomics. A request changes three when it begins and three when it
/// ends, which costs less than the buckets of the rate limits.
final class RequestPermits: Sendable {
    /// The permits of one upstream, or of the requests that wait for one resource.
    final class Share: Sendable {
        /// Whether it may use the reserve.
        let isGatehouse: Bool
        fileprivate let used = Atomic<Int>(0)

        init(isGatehouse: Bool) { self.isGatehouse = isGatehouse }
    }

    /// A permit that is in use.
    struct Permit: Sendable {
        fileprivate let share: Share
        fileprivate let address: CountedPermits
    }

    private let rule: Rule
    /// Teams' permits in the upper half, Gatehouse's own in the lower.
    private let inUse = Atomic<UInt64>(0)
    private let addresses: AddressPermits

    private static let oneOfTeams: UInt64 = 1 << 32

    /// - Parameters:
    ///   - limit: permits in all.
    ///   - addressLimit: permits for one address.
    init(limit: Int, addressLimit: Int) {
        rule = Rule(limit: limit)
        addresses = AddressPermits(limit: addressLimit)
    }

    /// - Returns: `nil` where the share, or the address, has reached its limit.
    func take(_ share: Share, of address: AddressKey) -> Permit? {
        guard let address = addresses.take(for: address) else { return nil }
        var (isTaken, before) = (false, inUse.load(ordering: .relaxed))
        repeat {
            let isAdmitted = rule.admits(
                isGatehouse: share.isGatehouse, used: share.used.load(ordering: .relaxed), teams: Int(before >> 32),
                gatehouse: Int(before & 0xFFFF_FFFF))
            guard isAdmitted else {
                address.release()
                return nil
            }
            (isTaken, before) = inUse.compareExchange(
                expected: before, desired: before + Self.one(of: share), ordering: .relaxed)
        } while !isTaken
        share.used.add(1, ordering: .relaxed)
        return Permit(share: share, address: address)
    }

    func release(_ permit: Permit) {
        permit.address.release()
        permit.share.used.subtract(1, ordering: .relaxed)
        inUse.subtract(Self.one(of: permit.share), ordering: .relaxed)
    }

    private static func one(of share: Share) -> UInt64 { share.isGatehouse ? 1 : oneOfTeams }
}

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

/// A count of permits in use that all event loops share.
final class CountedPermits: Sendable {
    private let count = Atomic<Int>(0)

    /// - Returns: `false` where `limit` permits are taken.
    func take(upTo limit: Int) -> Bool {
        var (isTaken, before) = (false, count.load(ordering: .relaxed))
        while !isTaken {
            guard before < limit else { return false }
            (isTaken, before) = count.compareExchange(expected: before, desired: before + 1, ordering: .relaxed)
        }
        return true
    }

    func release() { count.subtract(1, ordering: .relaxed) }

    /// Permits in use.
    var inUse: Int { count.load(ordering: .relaxed) }
}

/// Counts permits by address, up to a limit for each.
final class AddressPermits: Sendable {
    private let limit: Int
    /// Indexed by the hash of the address, which no client can foresee. Two addresses with the same index count
    /// together. That is rarely noticeable, because counts far outnumber permits.
    private let counts = (0..<8192).map { _ in CountedPermits() }

    /// - Parameter limit: permits of each address.
    init(limit: Int) { self.limit = limit }

    private func count(of address: AddressKey) -> CountedPermits {
        counts[Int(UInt(bitPattern: address.hashValue) % UInt(counts.count))]
    }

    func hasRoom(for address: AddressKey) -> Bool { count(of: address).inUse < limit }

    /// - Returns: the count that the caller has to release; `nil` where the address has reached its limit.
    func take(for address: AddressKey) -> CountedPermits? {
        let count = count(of: address)
        return count.take(upTo: limit) ? count : nil
    }
}

/// The permits of open WebSockets and event streams, for the whole process.
final class StreamPermits: Sendable {
    /// A permit that is in use.
    struct Permit: Sendable {
        fileprivate let network: CountedPermits
    }

    private let limit: Int
    private let all = CountedPermits()
    private let networks: AddressPermits

    /// - Parameters:
    ///   - limit: permits in all.
    ///   - networkLimit: permits for one IPv4 address or IPv6 /48.
    init(limit: Int, networkLimit: Int) {
        self.limit = limit
        networks = AddressPermits(limit: networkLimit)
    }

    /// Permits in use.
    var inUse: Int { all.inUse }

    func hasRoom(for address: AddressKey) -> Bool {
        inUse < limit && networks.hasRoom(for: address.connectionNetwork)
    }

    /// - Returns: `nil` where all permits, or those of the address's network, are taken.
    func take(for address: AddressKey) -> Permit? {
        guard let network = networks.take(for: address.connectionNetwork) else { return nil }
        guard all.take(upTo: limit) else {
            network.release()
            return nil
        }
        return Permit(network: network)
    }

    func release(_ permit: Permit) {
        permit.network.release()
        all.release()
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

/// A queue for permits that all event loops share: for requests that have a password hashed, or that come from a
/// network with too many rejections. Such a request costs far more than a lock.
final class OrderedPermits: Sendable {
    /// Called on any thread when the waiter has a permit.
    typealias Wake = @Sendable (_ ticket: Int) -> Void

    private let queue: Mutex<PermitQueue<Wake>>

    init(limit: Int) { queue = Mutex(PermitQueue(limit: limit)) }

    /// Requests that wait.
    var waiting: Int { queue.withLock { $0.count } }

    func take() -> Bool { queue.withLock { $0.take() } }

    /// Waits for a permit. If one has become free since `take`, `wake` is called at once.
    func wait(_ wake: @escaping Wake) -> Int {
        let (ticket, next) = queue.withLock { queue in
            let ticket = queue.wait(wake)
            // A free permit is handed out like one that becomes free.
            return (ticket, queue.take() ? queue.release() : nil)
        }
        if let next { next.waiter(next.ticket) }
        return ticket
    }

    func release() {
        let next = queue.withLock { $0.release() }
        if let next { next.waiter(next.ticket) }
    }

    /// - Returns: `false` if the waiter already has a permit, which it has to release.
    func giveUp(_ ticket: Int) -> Bool { queue.withLock { $0.giveUp(ticket) } }
}

/// The permits of requests from networks with too many rejections: a few for each network.
final class NetworkPermits: Sendable {
    private static let queues = 1024

    /// Indexed by the hash of the network, which no client can foresee. Two networks with the same index share the
    /// permits.
    private let permits: [OrderedPermits]

    /// - Parameter limit: permits of each network.
    init(limit: Int) { permits = (0..<Self.queues).map { _ in OrderedPermits(limit: limit) } }

    func permits(of address: AddressKey) -> OrderedPermits {
        permits[Int(UInt(bitPattern: address.connectionNetwork.hashValue) % UInt(permits.count))]
    }
}
