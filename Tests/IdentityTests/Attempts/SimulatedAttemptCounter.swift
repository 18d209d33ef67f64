import GatehouseLimits
import Synchronization

@testable import IdentityCore
@testable import Redis

/// Counts as Redis does, by a clock that a test moves.
final class SimulatedAttemptCounter: AttemptCounter {
    struct State {
        /// Microseconds.
        var now: Int64 = 1_000_000_000_000
        var fullAt: [String: Int64] = [:]
    }

    let state = Mutex(State())

    var keys: [String] { state.withLock { Array($0.fullAt.keys) } }

    func pass(seconds: Double) {
        state.withLock { $0.now += Int64(seconds * 1_000_000) }
    }

    func take(_ attempts: [Attempt], cost: Int) async -> AttemptOutcome {
        state.withLock { state in
            var taken: [String: Int64] = [:]
            for (name, bucket) in Self.buckets(of: attempts) {
                let (decision, next) = bucket.take(cost, fullAt: state.fullAt[name] ?? 0, now: state.now)
                if case .refused(let retryAfter) = decision { return .refused(retryAfter: retryAfter) }
                taken[name] = next
            }
            state.fullAt.merge(taken) { $1 }
            return .taken(isShared: true)
        }
    }

    func refund(_ attempts: [Attempt], cost: Int, isShared: Bool) async {
        state.withLock { state in
            for (name, bucket) in Self.buckets(of: attempts) { state.fullAt[name]? -= Int64(cost) * bucket.interval }
        }
    }

    private static func buckets(of attempts: [Attempt]) -> [(name: String, bucket: TokenBucket)] {
        attempts.flatMap { attempt in
            attempt.allowance.tiers.enumerated().map { number, tier in
                ("\(attempt.allowance.name):\(number):\(attempt.key)", bucket(tier))
            }
        }
    }

    private static func bucket(_ tier: AttemptAllowance.Tier) -> TokenBucket {
        TokenBucket(capacity: tier.atOnce, refillPerSecond: 1 / tier.interval)
    }
}
