import Synchronization

@testable import IdentityService
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

    func take(_ key: String, of allowance: AttemptAllowance) async -> Duration? {
        state.withLock { state in
            var taken: [String: Int64] = [:]
            for (number, tier) in allowance.tiers.enumerated() {
                let name = "\(allowance.name):\(number):\(key)"
                let (decision, next) = Self.bucket(tier).take(1, fullAt: state.fullAt[name] ?? 0, now: state.now)
                if case .refused(let retryAfter) = decision { return retryAfter }
                taken[name] = next
            }
            state.fullAt.merge(taken) { $1 }
            return nil
        }
    }

    func giveBack(_ key: String, of allowance: AttemptAllowance) async {
        state.withLock { state in
            for (number, tier) in allowance.tiers.enumerated() {
                state.fullAt["\(allowance.name):\(number):\(key)"]? -= Self.bucket(tier).interval
            }
        }
    }

    private static func bucket(_ tier: AttemptAllowance.Tier) -> TokenBucket {
        TokenBucket(capacity: tier.atOnce, refillPerSecond: 1 / tier.interval)
    }
}
