import Foundation
import GatehouseAccessTokens
import GatehouseLimits
import GatehouseServiceContracts
import Metrics
import Postgres
import Redis
import ServiceKitPostgres
import TestKit

@testable import TokensService

/// The service below HTTP, on a database of its own.
struct TokensFixture: Sendable {
    static let signingKey = try! RSAPrivateKey.generate()

    let database: LeasedDatabase
    let redis: RedisClient
    let keys: RefreshKeyRing
    let rules: RotationRules
    let store: SessionStore

    static func with(
        rules: RotationRules = RotationRules(), redis: RedisConfiguration? = nil, keys: RefreshKeyRing = .sample(),
        lifetimes: SessionStore.Lifetimes = .init(), _ body: @Sendable (TokensFixture) async throws -> Void
    ) async throws {
        let redisConfiguration = try redis ?? RedisConfiguration(url: TestRedis.url)
        try await withDatabase(migrations: Migrations.all) { database in
            try await withRedisClient(redisConfiguration) { redis in
                try await body(
                    TokensFixture(
                        database: database, redis: redis, keys: keys, rules: rules,
                        store: SessionStore(database: database.pool, lifetimes: lifetimes)))
            }
        }
    }

    /// One replica's refresher. Two of them share nothing but PostgreSQL and Redis.
    func refresher(
        keys: RefreshKeyRing? = nil, store: SessionStore? = nil, lock: RaceLock? = nil,
        load: ConcurrencyLimit = ConcurrencyLimit(), limit: TokenBuckets<String>? = nil,
        unknownKeyLimit: UnknownKeyLimit? = nil, metrics: any MetricsFactory = MetricsSystem.factory
    ) throws -> Refresher {
        let store = store ?? self.store
        return Refresher(
            rules: rules, keys: keys ?? self.keys, store: store, lock: lock ?? RaceLock(redis: redis),
            issuer: TokenIssuer(
                keys: try SigningKeySource(
                    SigningKeys(first: Self.signingKey, isForDevelopment: true), file: nil,
                    issuer: "http://gatehouse.localhost", audience: "gatehouse", logger: .quiet),
                issuer: "http://gatehouse.localhost",
                audience: "gatehouse", clientID: "com.example.app", accessLifetime: Int64(store.lifetimes.access),
                logger: .quiet),
            logger: .quiet, concurrencyLimit: load, refreshLimit: limit, unknownKeyLimit: unknownKeyLimit,
            metrics: metrics)
    }

    func signIn(
        _ user: User = .sample(), sessionID: UUID? = nil, version: Int64 = 1, credentialsVersion: Int64 = 1,
        since start: ContinuousClock.Instant = .now, device: SessionDevice? = nil, limit: Int = 100,
        in store: SessionStore? = nil
    ) async throws -> RefreshToken {
        let sessionID = sessionID ?? .session(of: user.id)
        let token = RefreshToken(sessionID: sessionID, generation: 0, keys: keys)
        let request = CreateSessionRequest(
            sessionID: sessionID, snapshot: UserSnapshot(user: user, version: version),
            credentialsVersion: credentialsVersion, signInAge: 0, device: device)
        _ = try await (store ?? self.store).create(token, for: request, arrivedAt: start, limit: limit)
        return token
    }

    /// Moves time by moving the session into the past.
    func age(_ sessionID: UUID, by seconds: Double) async throws {
        try await database.pool.query(
            """
            UPDATE sessions SET rotated_at = rotated_at - \(seconds) * interval '1 second',
                expires_at = expires_at - \(seconds) * interval '1 second',
                absolute_expires_at = absolute_expires_at - \(seconds) * interval '1 second',
                created_at = created_at - \(seconds) * interval '1 second', expiry_day = '-infinity'
            WHERE id = \(sessionID)
            """)
    }

    func generation(of sessionID: UUID) async throws -> Int32? {
        try await database.pool.query("SELECT generation FROM sessions WHERE id = \(sessionID)").decode(Int32.self)
            .first
    }

    /// Sequences what was committed, so that the feed contains it.
    func feed(pageSize: Int = 1000) async throws -> RevocationFeed {
        let feed = RevocationFeed(database: database.pool, pageSize: pageSize, logger: .quiet)
        try await feed.sequencer.sequence()
        return feed
    }

    func count(_ table: String) async throws -> Int {
        try await database.pool.query("SELECT count(*) FROM \(unescaped: table)")[0].decode(Int.self)
    }
}

/// Every entry of the feed, sequenced or not, for `FROM`.
let revocations = """
    (SELECT session_id, reason FROM pending_revocations UNION ALL SELECT session_id, reason FROM revocation_log) AS entry
    """

extension User {
    static func sample(id: UUID = UUID(), email: String? = "ada@example.com") -> User {
        User(
            id: id, email: email, displayName: "Ada \"Countess\" Lovelace", emailVerified: true, role: "courier",
            storeIds: ["store 1", "store,2"], authProviders: [.password],
            createdAt: Date(timeIntervalSince1970: 1_700_000_000))
    }
}

extension Refresher.Client {
    static var test: Self { Self(ipAddress: "192.0.2.1") }
}

extension Refresher {
    func refresh(_ token: RefreshToken) async throws -> IssuedTokens {
        try await refresh(token.text, from: .test)
    }

    /// The error code that a refresh answers; `nil` when it succeeds.
    func refusal(of token: RefreshToken) async throws -> ErrorCode? {
        do {
            _ = try await refresh(token)
            return nil
        } catch let problem as Problem {
            return problem.code
        }
    }
}

extension IssuedTokens {
    var refresh: RefreshToken { RefreshToken(text: refreshToken)! }
}
