import GatehouseInstruments
public import GatehouseLimits

/// A rate limit that processes share: a token bucket for each key, in Redis, updated by one script with Redis' clock.
///
/// While Redis is unavailable, each process counts on its own in ``TokenBuckets``. Then every replica allows the
/// whole limit, and the outage does not cause refusals.
public struct RedisTokenBuckets: Sendable {
    let client: RedisClient
    let name: String
    let bucket: TokenBucket
    let timeout: Duration?
    let local: TokenBuckets<String>
    let fallbacks: Counter

    /// - Parameters:
    ///   - name: the prefix of the key. Limits with different names are independent.
    ///   - capacity: how many are allowed at once; 1 or more.
    ///   - refillPerSecond: how many are allowed over time; more than 0.
    ///   - timeout: how long to wait for Redis before counting locally; `nil` uses the client's.
    ///   - maximumLocalKeys: how many keys are kept while Redis is unavailable (about 100 bytes each).
    public init(
        client: RedisClient, name: String, capacity: Int, refillPerSecond: Double, timeout: Duration? = nil,
        maximumLocalKeys: Int = 10_000
    ) {
        self.client = client
        self.name = name
        self.bucket = TokenBucket(capacity: capacity, refillPerSecond: refillPerSecond)
        self.timeout = timeout
        self.local = TokenBuckets(bucket: bucket, capacity: maximumLocalKeys)
        self.fallbacks = Counter(
            "redis_rate_limit_fallbacks_total",
            help: "Decisions of a shared limit that were made without Redis, by this process alone.",
            labels: [("limit", name)])
    }

    /// Takes `cost` tokens from the bucket of `key`, all or none. Never throws and never waits longer than the timeout.
    ///
    /// - Parameter cost: 0 only checks. More than the capacity is always refused.
    public func take(_ key: String, cost: Int = 1) async -> RateLimitDecision {
        guard let room = await room(after: .take, key, cost: cost) else { return local.take(cost, from: key).decision }
        return bucket.decision(leaving: room)
    }

    /// Takes `cost` tokens for work that is already done, even if the bucket has fewer. The bucket is then in debt, by
    /// at most its capacity.
    ///
    /// - Returns: how long until the bucket is out of debt; `nil` if it is not in debt, or if Redis did not answer.
    public func charge(_ key: String, cost: Int) async -> Duration? {
        guard let room = await room(after: .charge, key, cost: cost), room < 0 else { return nil }
        return .microseconds(-room)
    }

    /// The room that a script leaves in the bucket, in microseconds. `nil` if Redis has not answered: a metric counts
    /// this, and the process decides alone, because a limit must not stop the work.
    private func room(after script: RedisScript, _ key: String, cost: Int) async -> Int64? {
        let answer = try? await client.run(
            script, keys: ["\(name):\(key)"],
            arguments: [RedisArgument(bucket.capacity), RedisArgument(Int(bucket.interval)), RedisArgument(cost)],
            timeout: timeout)
        if let room = answer?.integer { return Int64(room) }
        fallbacks.increment()
        return nil
    }
}

/// The same number of tokens from each of several buckets: all are taken, or none, by one command.
///
/// While Redis is unavailable, each process counts on its own, as with ``RedisTokenBuckets``.
public struct RedisTokens: Sendable {
    /// Where the tokens were taken, and where they are refunded.
    public enum Place: Sendable, Hashable {
        /// In Redis, for all processes.
        case shared
        /// In this process' memory: Redis did not answer.
        case local
    }

    public enum Decision: Sendable, Hashable {
        case taken(Place)
        /// - Parameter retryAfter: when the same request would be allowed, unless other requests take tokens first.
        case refused(retryAfter: Duration)
    }

    private let tokens: [(limit: RedisTokenBuckets, key: String)]
    private let cost: Int

    /// - Parameters:
    ///   - tokens: at least one; the limits have one client.
    ///   - cost: how many are taken from each bucket, 1 or more. More than a bucket's capacity is always refused.
    public init(_ tokens: [(limit: RedisTokenBuckets, key: String)], cost: Int = 1) {
        precondition(!tokens.isEmpty && cost > 0, "needs at least one bucket and a positive cost")
        self.tokens = tokens
        self.cost = cost
    }

    /// Never throws and never waits longer than one command's timeout.
    public func take() async -> Decision {
        guard let room = await run(.take) else { return takeLocally() }
        return room >= 0 ? .taken(.shared) : .refused(retryAfter: .microseconds(-room))
    }

    /// Refunds tokens that should not count. A bucket never holds more than its capacity.
    public func refund(to place: Place) async {
        switch place {
        case .shared: _ = await run(.refund)
        // They were taken in this process' memory, so they go back there.
        case .local: refundLocally(tokens[...])
        }
    }

    private func takeLocally() -> Decision {
        for (number, token) in tokens.enumerated() {
            let decision = token.limit.local.take(cost, from: token.key).decision
            guard case .refused(let retryAfter) = decision else { continue }
            refundLocally(tokens[..<number])
            return .refused(retryAfter: retryAfter)
        }
        return .taken(.local)
    }

    private func refundLocally(_ tokens: ArraySlice<(limit: RedisTokenBuckets, key: String)>) {
        for token in tokens { token.limit.local.refund(cost, to: token.key) }
    }

    private func run(_ script: RedisScript) async -> Int? {
        let answer = try? await tokens[0].limit.client.run(
            script, keys: tokens.map { "\($0.limit.name):\($0.key)" },
            arguments: tokens.flatMap { token in
                [
                    RedisArgument(token.limit.bucket.capacity), RedisArgument(Int(token.limit.bucket.interval)),
                    RedisArgument(cost),
                ]
            }, timeout: tokens[0].limit.timeout)
        if let room = answer?.integer { return Int(room) }
        for token in tokens { token.limit.fallbacks.increment() }
        return nil
    }
}

/// The calculations of ``TokenBucket``, with Redis' clock. For each key, the arguments are capacity, interval and cost.
extension RedisScript {
    /// Takes the tokens from all buckets, if each of them has room. Returns the least room that remains in a bucket, in
    /// microseconds; below 0 when refused.
    fileprivate static let take = ofBuckets(
        """
        local least, full = math.huge, {}
        for i, key in ipairs(KEYS) do
            full[i] = read(key) + ARGV[3 * i] * ARGV[3 * i - 1]
            least = math.min(least, now + ARGV[3 * i - 2] * ARGV[3 * i - 1] - full[i])
        end
        if least >= 0 then
            for i, key in ipairs(KEYS) do write(key, full[i]) end
        end
        return least
        """)

    /// Takes the tokens from one bucket, even if it has no room. Returns the room that remains, below 0 for a debt.
    fileprivate static let charge = ofBuckets(
        """
        local whole = ARGV[1] * ARGV[2]
        local full = math.min(read(KEYS[1]) + ARGV[3] * ARGV[2], now + 2 * whole)
        write(KEYS[1], full)
        return now + whole - full
        """)

    fileprivate static let refund = ofBuckets(
        """
        for i, key in ipairs(KEYS) do write(key, read(key) - ARGV[3 * i] * ARGV[3 * i - 1]) end
        return 0
        """)

    /// The state of a bucket is the time at which it is full again. A full bucket has no key.
    private static func ofBuckets(_ body: String) -> RedisScript {
        RedisScript(
            """
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]
            local function read(key)
                return math.max(tonumber(redis.call('GET', key) or 0), now)
            end
            local function write(key, full)
                if full > now then
                    redis.call('SET', key, string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
                else
                    redis.call('DEL', key)
                end
            end
            \(body)
            """)
    }
}
