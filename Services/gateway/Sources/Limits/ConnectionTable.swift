// Pure: no I/O, no clock.

/// How many client connections a process takes.
struct ConnectionLimit: Sendable, Equatable {
    /// Requests on connections beyond this limit are refused with 503. Silent ones are closed after a short time.
    let soft: Int

    /// Connections beyond this limit are closed at once. If all had a response, the process would run out of
    /// descriptors.
    var hard: Int { soft + max(1, soft / 20) }

    /// Descriptors for everything except clients and upstreams: event loops, Redis, the admin port, logs.
    private static let reserve = 256

    init(_ soft: Int) { self.soft = soft }

    /// The wanted limit, or a lower one where the process has too few descriptors for it.
    ///
    /// - Parameters:
    ///   - descriptors: the number that the process may have open.
    ///   - upstreams: the maximum of connections to upstreams; they get up to half of the descriptors.
    init(wanted: Int, descriptors: Int, upstreams: Int) {
        let left = max(0, descriptors - Self.reserve)
        let forClients = left - min(upstreams, left / 2)
        soft = max(1, min(wanted, forClients * 20 / 21 - 1))
    }
}

/// The open connections of the process by their network: an IPv4 address or an IPv6 /48.
///
/// At the limit, a new connection replaces the longest idle one of the network with the most connections. So an
/// attacker with many idle connections loses them to new clients, and other clients lose none.
struct ConnectionTable<Connection: AnyObject> {
    /// Connections found in one search, because a search reads all connections of a network.
    private static var batch: Int { 64 }

    private struct Candidate {
        let connection: Connection
        let idleSince: Int64
    }

    private struct Network {
        private(set) var connections: [Connection] = []
        private var indices: [ObjectIdentifier: Int] = [:]

        func holds(_ connection: Connection) -> Bool { indices[ObjectIdentifier(connection)] != nil }

        /// - Returns: the number of connections afterwards.
        mutating func append(_ connection: Connection) -> Int {
            indices[ObjectIdentifier(connection)] = connections.count
            connections.append(connection)
            return connections.count
        }

        /// - Returns: the number of connections afterwards; `nil`: the connection was not in it.
        mutating func remove(_ connection: Connection) -> Int? {
            guard let index = indices.removeValue(forKey: ObjectIdentifier(connection)) else { return nil }
            let last = connections.removeLast()
            if last !== connection {
                connections[index] = last
                indices[ObjectIdentifier(last)] = index
            }
            return connections.count
        }
    }

    private var networks: [AddressKey: Network] = [:]
    /// The networks by their number of connections, which is the index.
    private var byCount: [Set<AddressKey>] = [[]]
    /// The next connections to be closed, the longest idle one last.
    private var candidates: [Candidate] = []
    /// The network of the candidates.
    private var candidateNetwork: AddressKey?
    /// No search before this time, since the last one found nothing.
    private var searchesFrom = Int64.min

    /// How many connections the network of an address holds.
    func count(of address: AddressKey) -> Int { networks[address.connectionNetwork]?.connections.count ?? 0 }

    mutating func enter(_ connection: Connection, of address: AddressKey) {
        let key = address.connectionNetwork
        let count = networks[key, default: Network()].append(connection)
        moved(key, from: count - 1, to: count)
    }

    mutating func leave(_ connection: Connection, of address: AddressKey) {
        let key = address.connectionNetwork
        guard let count = networks[key]?.remove(connection) else { return }
        if count == 0 { networks[key] = nil }
        moved(key, from: count + 1, to: count)
    }

    private mutating func moved(_ key: AddressKey, from: Int, to: Int) {
        if from > 0 { byCount[from].remove(key) }
        if to == byCount.count { byCount.append([]) }
        if to > 0 { byCount[to].insert(key) }
        while byCount.count > 1, byCount[byCount.count - 1].isEmpty { byCount.removeLast() }
    }

    /// Takes the longest idle connection of the largest network, to be closed. Each is taken once per idle period.
    ///
    /// - Parameters:
    ///   - pause: between two searches if the first found nothing; nanoseconds.
    ///   - idleSince: since when a connection carries no request; `nil`: it carries one, or is being closed already.
    mutating func takeLongestIdle(
        now: Int64, pause: Int64 = 50_000_000, idleSince: (Connection) -> Int64?
    ) -> Connection? {
        if let found = nextCandidate(idleSince) { return found }
        guard now >= searchesFrom else { return nil }
        for count in byCount.indices.reversed() where count > 0 {
            for key in byCount[count] {
                search(key, idleSince)
                if let found = nextCandidate(idleSince) { return found }
            }
        }
        searchesFrom = now + pause
        return nil
    }

    /// The next candidate that is still idle, while its network is one of the largest.
    private mutating func nextCandidate(_ idleSince: (Connection) -> Int64?) -> Connection? {
        guard let key = candidateNetwork, let network = networks[key],
            network.connections.count + 1 >= byCount.count - 1
        else {
            candidates = []
            return nil
        }
        while let next = candidates.popLast() {
            if network.holds(next.connection), idleSince(next.connection) == next.idleSince {
                return next.connection
            }
        }
        return nil
    }

    private mutating func search(_ key: AddressKey, _ idleSince: (Connection) -> Int64?) {
        candidateNetwork = key
        let idle = (networks[key]?.connections ?? []).compactMap { connection in
            idleSince(connection).map { Candidate(connection: connection, idleSince: $0) }
        }
        candidates = idle.sorted { $0.idleSince < $1.idleSince }.prefix(Self.batch).reversed()
    }
}

extension AddressKey {
    /// The unit of the connection limits: an IPv4 address, or an IPv6 /48, which belongs to one customer.
    var connectionNetwork: AddressKey { network(ofBits: 48) ?? self }
}
