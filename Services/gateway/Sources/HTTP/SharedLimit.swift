import NIOCore
import Redis

/// Counts over all replicas of the gateway what each of them counts for itself.
///
/// No request waits for it: the local count decides at once, Redis is told behind its back, and when Redis says that
/// the address is over its limit, the local count is made to agree. So a replica may admit one request too many, and
/// an outage of Redis changes nothing but that each replica counts alone.
struct SharedLimit: Sendable {
    let local: RateLimiter<AddressKey>
    let shared: RedisTokenBucket

    /// Tells that a request of `key` was admitted here.
    func admitted(_ key: AddressKey) {
        Task {
            if case .refused(let retryAfter) = await shared.take(String(key.value, radix: 16)) {
                local.refuse(key, for: retryAfter, now: Int64(NIODeadline.now().uptimeNanoseconds))
            }
        }
    }
}
