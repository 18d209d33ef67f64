import GatehouseInstruments
import GatehouseLimits
import NIOCore
import Redis

/// Makes limits that all replicas of the gateway count together.
///
/// No request waits for Redis: the process's own count decides at once. Every few requests it reports the count to
/// Redis. If Redis responds that all replicas together exceed the limit, this process refuses until they no longer do.
/// So the replicas together may admit a little more than the limit at first, and compensate for it. While Redis is
/// unavailable, each counts alone.
///
/// A command reports several requests and runs after them, so it is part of no request's trace.
struct SharedLimits: Sendable {
    /// `nil`: each replica counts alone.
    var redis: RedisClient?
    /// The prefix of keys in Redis.
    var prefix = "gateway:"

    /// - Parameter name: distinguishes this limit from others in Redis.
    func limiter<Key: LimitedKey & CustomStringConvertible>(_ limit: RateLimit, _ name: String) -> RateLimiter<Key> {
        let sharing = Counter(
            "gatehouse_gateway_rate_limit_sharing_total",
            help: "Requests counted in a shared bucket, because there were too many clients for one bucket each.",
            labels: [("limit", name)])
        let onSharing: @Sendable () -> Void = { sharing.increment() }
        guard let redis else { return RateLimiter(limit, onSharing: onSharing) }
        let shared = RedisTokenBuckets(
            client: redis, name: prefix + name, capacity: limit.capacity, refillPerSecond: limit.perSecond)
        let report: RateLimiter<Key>.Report = { limiter, key, count in
            Task {
                if let debt = await shared.charge(key.description, cost: count) {
                    limiter.exhaust(key, for: debt, now: Int64(NIODeadline.now().uptimeNanoseconds))
                }
            }
        }
        return RateLimiter(limit, report: report, onSharing: onSharing)
    }

    /// A limit of addresses and of the networks around them.
    func addressLimiter(_ limit: RateLimit, _ name: String) -> AddressLimiter {
        AddressLimiter(limit) { limiter($0, name + $1) }
    }

    /// - Parameter name: the route's name.
    func limiter(ofRoute name: String, _ limit: RateLimit) -> RouteLimiter {
        RouteLimiter(
            users: limiter(limit, "route:user:\(name)"), addresses: addressLimiter(limit, "route:address:\(name)"))
    }
}

extension RateLimit {
    /// The fields of a refusal (draft-ietf-httpapi-ratelimit-headers-10): the limit, and that nothing remains.
    ///
    /// - Parameter retryAfter: seconds.
    func fields(name: String, retryAfter: Int) -> String {
        let window = max(1, Int((Double(capacity) / perSecond).rounded(.up)))
        return """
            RateLimit-Policy: "\(name)";q=\(capacity);w=\(window)\r
            RateLimit: "\(name)";r=0;t=\(retryAfter)\r

            """
    }
}
