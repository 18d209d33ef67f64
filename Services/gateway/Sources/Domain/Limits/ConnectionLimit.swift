/// How many client connections a process takes.
struct ConnectionLimit: Sendable, Equatable {
    /// Requests on connections beyond these are refused with 503, and those that stay silent are closed after a moment.
    let soft: Int

    /// Connections beyond these are closed at once. If all had a response, the process would run out of descriptors.
    var hard: Int { soft + max(1, soft / 20) }

    /// Descriptors for what is neither a client nor an upstream: event loops, Redis, the admin port, logs.
    private static let reserve = 256

    init(_ soft: Int) { self.soft = soft }

    /// The limit that is wanted, or a lower one where the process has too few descriptors for it.
    ///
    /// - Parameters:
    ///   - descriptors: that the process may have open.
    ///   - upstreams: connections to upstreams at the most; they get up to half of the descriptors.
    init(wanted: Int, descriptors: Int, upstreams: Int) {
        let left = max(0, descriptors - Self.reserve)
        let forClients = left - min(upstreams, left / 2)
        soft = max(1, min(wanted, forClients * 20 / 21 - 1))
    }
}
