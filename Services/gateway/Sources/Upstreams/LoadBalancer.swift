import Instruments

/// Spreads the requests to one upstream over its addresses, on one event loop.
final class LoadBalancer {
    private unowned let worker: Worker
    private let pools: [UpstreamPool]
    private var budget: RetryBudget

    /// - Parameter previous: the one that this replaces, with other addresses perhaps. Its retries go on counting:
    ///   otherwise a name that changes every few seconds would bring a new budget each time.
    init(_ pools: [UpstreamPool], after previous: LoadBalancer?, worker: Worker) {
        self.pools = pools
        self.worker = worker
        budget = previous?.budget ?? RetryBudget(share: worker.gateway.settings.retryShare)
    }

    func countRequest(_ exchange: Exchange) { budget.countRequest(now: exchange.request.startedAt) }

    /// Whether one more request may be sent a second time.
    func mayRetry() -> Bool {
        let may = budget.takeRetry(now: worker.now)
        (may ? worker.gateway.metrics.retries : worker.gateway.metrics.refusedRetries).increment()
        return may
    }

    /// How many addresses there are.
    var count: Int { pools.count }

    /// Where `exchange` is to go: of two addresses picked at random to the one with fewer requests.
    ///
    /// Addresses that are set aside are left out for as long as at least half are left: fewer would have to bear what
    /// may be more than they can, so then all are tried. What failed is repeated where nothing failed of late. An only
    /// address is always chosen: its pool refuses requests while it refuses connections.
    ///
    /// - Parameter now: asked for where something is set aside; nanoseconds of the worker's clock.
    func choose(for exchange: Exchange, isRetry: Bool, now: @autoclosure () -> Int64) -> UpstreamPool? {
        guard pools.count > 1 else { return pools.first }
        let (one, other) = pickTwo(of: pools)
        if one.isHealthy, other.isHealthy { return lessBusy(one, other, for: exchange) }

        let now = now()
        let well = pools.filter(\.isHealthy)
        // If the probe fails, another address has to be there for the request, and the budget has to allow it.
        if !isRetry, exchange.mayProbe, !well.isEmpty, let pool = pools.first(where: { $0.mayBeProbed(now: now) }),
            budget.hasRetry(now: now)
        {
            pool.probe = exchange
            return pool
        }
        if isRetry, well.isEmpty { return pools.min { $0.failedAt < $1.failedAt } }
        let candidates = isRetry || well.count * 2 >= pools.count ? well : pools
        guard candidates.count > 1 else { return candidates.first }
        let (first, second) = pickTwo(of: candidates)
        return lessBusy(first, second, for: exchange)
    }

    private func pickTwo(of pools: [UpstreamPool]) -> (UpstreamPool, UpstreamPool) {
        let one = Int.random(in: 0..<pools.count, using: &worker.random)
        let distance = Int.random(in: 1..<pools.count, using: &worker.random)
        return (pools[one], pools[(one + distance) % pools.count])
    }

    /// Requests are spread by requests, and WebSockets and event streams, which stay and cost little, by those: an address
    /// that comes new gets its share of both, and not all requests until it has as many of the two together.
    private func lessBusy(_ one: UpstreamPool, _ other: UpstreamPool, for exchange: Exchange) -> UpstreamPool {
        let (requests, streams) = (one.outstanding - other.outstanding, one.streams - other.streams)
        let difference = exchange.request.opensStream ? (streams, requests) : (requests, streams)
        return difference <= (0, 0) ? one : other
    }
}
