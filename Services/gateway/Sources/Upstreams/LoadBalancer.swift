import GatehouseInstruments
import Synchronization

/// The retries of one upstream, which all event loops share.
final class SharedRetryBudget: Sendable {
    let state = Mutex(RetryBudget())
}

/// Distributes the requests to one upstream over its addresses, on one event loop.
final class LoadBalancer {
    private unowned let worker: Worker
    private let pools: [UpstreamPool]
    private let budget: SharedRetryBudget

    /// - Parameter budget: shared with the upstream's balancers on other event loops, and those that this one replaces:
    ///   otherwise a name whose addresses change every few seconds would get a new budget each time.
    init(_ pools: [UpstreamPool], budget: SharedRetryBudget, worker: Worker) {
        self.pools = pools
        self.worker = worker
        self.budget = budget
    }

    func countRequest() { budget.state.withLock { $0.countRequest(now: worker.now) } }

    /// - Returns: `false` where the budget has no retry left.
    func takeRetry() -> Bool {
        let isTaken = budget.state.withLock { $0.takeRetry(share: share, now: worker.now) }
        (isTaken ? worker.gateway.metrics.retries : worker.gateway.metrics.refusedRetries).increment()
        return isTaken
    }

    private var share: Double { worker.gateway.settings.retryShare }

    /// The number of addresses.
    var count: Int { pools.count }

    /// Chooses the address for `exchange`: the less busy of two random ones.
    ///
    /// Addresses that are set aside are excluded while at least half are left. With fewer, all are used, because the
    /// rest might be overloaded. A retry goes to an address that has not failed recently, and not to that of the last
    /// attempt, which may be stopping, if there is another. An only address is always chosen. If it refuses
    /// connections, its pool refuses the request.
    ///
    /// - Parameter now: called if an address is set aside; nanoseconds of the worker's clock.
    func choose(for exchange: Exchange, isRetry: Bool, now: @autoclosure () -> Int64) -> UpstreamPool? {
        guard pools.count > 1 else { return pools.first }
        let (one, other) = pickTwo(of: pools)
        one.closeCircuitIfChecksPass()
        other.closeCircuitIfChecksPass()
        if !isRetry, one.isHealthy, other.isHealthy { return lessBusy(one, other, for: exchange) }

        let now = now()
        for pool in pools { pool.closeCircuitIfChecksPass() }
        let healthy = pools.filter(\.isHealthy)
        // If the probe fails, the request needs another address, and a retry within the budget.
        if !isRetry, exchange.mayProbe, !healthy.isEmpty, let pool = pools.first(where: { $0.mayBeProbed(now: now) }),
            budget.state.withLock({ $0.hasRetry(share: share, now: now) })
        {
            pool.probe = exchange
            return pool
        }
        if isRetry, healthy.isEmpty { return pools.min { $0.failedAt < $1.failedAt } }
        var candidates = isRetry || healthy.count * 2 >= pools.count ? healthy : pools
        if isRetry, candidates.count > 1 { candidates.removeAll { $0 === exchange.pool } }
        guard candidates.count > 1 else { return candidates.first }
        let (first, second) = pickTwo(of: candidates)
        return lessBusy(first, second, for: exchange)
    }

    private func pickTwo(of pools: [UpstreamPool]) -> (UpstreamPool, UpstreamPool) {
        let one = Int.random(in: 0..<pools.count, using: &worker.random)
        let distance = Int.random(in: 1..<pools.count, using: &worker.random)
        return (pools[one], pools[(one + distance) % pools.count])
    }

    /// Requests are balanced by the number of requests; WebSockets and event streams, which last long and cost little,
    /// by their own number. So a new address gets its share of both. By the total, it would get all requests until the
    /// totals are equal.
    private func lessBusy(_ one: UpstreamPool, _ other: UpstreamPool, for exchange: Exchange) -> UpstreamPool {
        let (requests, streams) = (one.outstanding - other.outstanding, one.streams - other.streams)
        let difference = exchange.request.opensStream ? (streams, requests) : (requests, streams)
        return difference <= (0, 0) ? one : other
    }
}
