/// The limit of one route: for each user, or for each address where nobody is signed in.
struct RouteLimiter: Sendable {
    let users: RateLimiter<UserKey>
    let addresses: RateLimiter<AddressKey>

    var limit: RateLimit { users.limit }

    /// - Returns: `nil` when the request is admitted, else the nanoseconds after which it would be.
    func take(user: UserKey?, address: AddressKey, now: Int64) -> Int64? {
        if let user { users.take(user, now: now) } else { addresses.take(address, now: now) }
    }
}
