import NIOCore

/// How many connections the servers of a process take at once, so that it never lacks a descriptor for its own work.
struct ServerConnections: Sendable, Equatable {
    /// How many there are where there are descriptors enough.
    static let wanted = 8192

    /// On the public port.
    let callers: Int
    /// On the admin port. They are counted apart, so that metrics and health answer while the public port is full.
    let admin: Int

    var isLowered: Bool { callers < Self.wanted }

    /// For what is neither a connection nor an event loop: logs, ports, timers, settings that are read anew, Redis.
    private static let reserve = 32
    /// Descriptors of an event loop: for epoll, for waking it, for its timer.
    private static let eachLoop = 3

    /// - Parameters:
    ///   - descriptors: that the process may have open.
    ///   - taken: what the service's own parts have open at the most.
    init(descriptors: Int, taken: Int, loops: Int = System.coreCount) {
        admin = min(64, max(4, descriptors / 8))
        let left = descriptors - admin - taken - Self.reserve - loops * Self.eachLoop
        // Half of them, since each request may need a second connection, to another service.
        callers = min(Self.wanted, max(8, left / 2))
    }
}
