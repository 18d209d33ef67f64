/// The limit of one route: for each user, or for each address of requests without a user.
struct RouteLimiter: Sendable {
    let users: RateLimiter<UserKey>
    let addresses: AddressLimiter

    var limit: RateLimit { users.limit }

    /// - Returns: `nil` when the request is admitted.
    func take(user: UserKey?, address: AddressKey, now: Int64) -> RateLimit.Refusal? {
        guard let user else { return addresses.take(address, now: now) }
        return users.take(user, now: now).map { .init(wait: $0, limit: limit) }
    }
}
