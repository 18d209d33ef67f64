/// A lock with a time limit that processes share: `SET name owner NX PX`, released by its owner alone.
///
/// It saves work, but does not guarantee mutual exclusion: two processes may hold it if the holder is slow, or if the
/// server restarts or fails over. Work that must happen only once needs a conditional write where the data is.
public struct RedisLock: Sendable {
    private let client: RedisClient
    private let name: String
    private let lifetime: Duration

    /// - Parameters:
    ///   - name: the key.
    ///   - lifetime: the time after which the lock expires; at least 1 ms.
    public init(client: RedisClient, name: String, lifetime: Duration) {
        self.client = client
        self.name = name
        self.lifetime = lifetime
    }

    /// Tries once to acquire the lock; `nil` when it is held.
    ///
    /// - Parameter timeout: the timeout of the command; `nil` uses the client's.
    /// - Throws: ``RedisError``. The lock is then not held: if the outcome is unknown, it is released again.
    public func acquire(timeout: Duration? = nil) async throws(RedisError) -> Lease? {
        let lease = Lease(client: client, name: name, owner: Self.newOwner())
        do {
            let answer = try await client.send(
                "SET", RedisArgument(name), RedisArgument(lease.owner), "NX", "PX",
                RedisArgument(max(lifetime.milliseconds, 1)), timeout: timeout)
            return answer.isNull ? nil : lease
        } catch {
            if error.code == .timedOut || error.code == .cancelled {
                // The server may still execute the SET. On the same connection the release follows it.
                Task { try? await lease.release() }
            }
            throw error
        }
    }

    private static func newOwner() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    }

    /// A lock that is held, until ``release(timeout:)`` or the end of its lifetime.
    public struct Lease: Sendable {
        private let client: RedisClient
        private let name: String
        fileprivate let owner: String

        fileprivate init(client: RedisClient, name: String, owner: String) {
            self.client = client
            self.name = name
            self.owner = owner
        }

        private static let compareAndDelete = RedisScript(
            """
            if redis.call('GET', KEYS[1]) == ARGV[1] then
                return redis.call('DEL', KEYS[1])
            end
            return 0
            """)

        /// Releases the lock, if this lease still holds it.
        ///
        /// - Returns: `false` when the lease had already expired, even if another lease holds the lock now.
        @discardableResult
        public func release(timeout: Duration? = nil) async throws(RedisError) -> Bool {
            let answer = try await client.run(
                Self.compareAndDelete, keys: [name], arguments: [RedisArgument(owner)], timeout: timeout)
            return answer == .integer(1)
        }
    }
}

extension Duration {
    /// Whole milliseconds, rounded down.
    var milliseconds: Int {
        Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
