// Pure: no I/O, no clock.

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
